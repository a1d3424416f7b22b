/* SPDX-License-Identifier: MIT */
/*
 * intrusive_ptr - pictures that several documents show. Each document owns a reference, the last
 * one to drop it frees the picture, and a catalogue finds live pictures without owning references.
 * A second part wraps a struct of a C library, which has its own count.
 */
#include <cstdio>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <holdfast/intrusive_ptr.h>
#include <holdfast/mutex.h>

#include "must.h"

/* ---- A C++ class: its base class has the count ----------------------------------------------- */

class picture : public hf::refcounted<picture> {
public:
	static hf::intrusive_ptr<const picture> open(const std::string &name);
	~picture();
	const std::string &name() const { return name_; }

private:
	explicit picture(const std::string &name) : name_(name) {}

	const std::string name_;
};
using picture_ptr = hf::intrusive_ptr<const picture>;

static hf::mutex catalogue_lock;
static std::map<std::string, picture *> catalogue HF_GUARDED_BY(catalogue_lock); /* no references */
static int pictures_loaded HF_GUARDED_BY(catalogue_lock);

picture_ptr picture::open(const std::string &name)
{
	hf::guard<hf::mutex> hold(catalogue_lock);
	picture *&entry = catalogue[name];

	/* Also null if the last owner has dropped the picture and will remove it from the map. */
	if (picture_ptr found{ entry, hf::retain_not_zero })
		return found;
	pictures_loaded++;
	entry = new picture(name);
	return picture_ptr(entry, hf::adopt); /* this pointer owns the first reference */
}

/* Runs in the last owner's thread. Lookups may access the count until it acquires the lock. */
picture::~picture()
{
	hf::guard<hf::mutex> hold(catalogue_lock);
	auto entry = catalogue.find(name_);

	if (entry != catalogue.end() && entry->second == this) /* not a newer one */
		catalogue.erase(entry);
}

/* ---- A struct of a C library: two functions, found where the struct is declared -------------- */

struct font {
	int users;
};
static int fonts_closed;

static inline void intrusive_ptr_add_ref(font *font)
{
	font->users++; /* the library's own function */
}

static inline void intrusive_ptr_release(font *font)
{
	if (--font->users > 0)
		return;
	delete font;
	fonts_closed++;
}

int main()
{
	std::vector<std::thread> documents;

	for (int i = 0; i < 4; i++) {
		documents.emplace_back([] {
			for (int page = 0; page < 1000; page++) {
				picture_ptr logo = picture::open("logo"), again = logo;

				logo.reset(); /* the picture stays: `again` owns it */
				must(again->name() == "logo");
			}
		});
	}
	for (auto &document : documents)
		document.join();
	{
		hf::guard<hf::mutex> hold(catalogue_lock);

		std::printf("pictures were loaded: %s; left in the catalogue: %zu\n",
			    pictures_loaded > 0 ? "yes" : "no", catalogue.size());
		must(pictures_loaded > 0 && catalogue.empty());
	}

	auto logo = picture::open("logo");
	auto same = picture::open("logo");
	std::printf("two documents, %d references, one picture: %s\n", (int)logo->references(),
		    logo == same ? "yes" : "no");
	must(logo == same && logo->references() == 2);

	{
		hf::intrusive_ptr<font> serif(new font{ 1 }, hf::adopt), copy = serif;

		std::printf("a font with %d users\n", serif->users);
		must(serif->users == 2);
	}
	std::printf("fonts closed: %d\n", fonts_closed);
	must(fonts_closed == 1);
	return 0;
}
