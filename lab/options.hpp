/* SPDX-License-Identifier: MIT */
#ifndef HF_LAB_OPTIONS_HPP
#define HF_LAB_OPTIONS_HPP
/* options - the arguments of hf-lab's commands. Errors are exceptions, whose message main()
 * prints. */
#include <cmath>
#include <cstdlib>
#include <functional>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

namespace lab
{

[[noreturn]] inline void fail(const std::string &what)
{
	throw std::runtime_error(what);
}

/* The parts of a list that commas separate. */
inline std::vector<std::string> split(const std::string &text)
{
	std::vector<std::string> list;
	size_t at = 0;

	for (;;) {
		size_t comma = text.find(',', at);

		list.push_back(text.substr(at, comma - at));
		if (comma == std::string::npos)
			return list;
		at = comma + 1;
	}
}

/* The value of an option that takes a number from @least to @most. */
inline double to_number(const std::string &option, const std::string &text, double least,
			double most)
{
	char *end;
	double value = strtod(text.c_str(), &end);

	if (text.empty() || *end || !(value >= least) || !(value <= most))
		fail(option + " takes a number from " + std::to_string(static_cast<long>(least)) +
		     " to " + std::to_string(static_cast<long>(most)) + ", not '" + text + "'");
	return value;
}

inline int to_integer(const std::string &option, const std::string &text, int least, int most)
{
	double value = to_number(option, text, least, most);

	if (value != std::floor(value))
		fail(option + " takes whole numbers, not '" + text + "'");
	return static_cast<int>(value);
}

/* What an option does with its name and value. */
using Options =
	std::map<std::string, std::function<void(const std::string &, const std::string &)>>;

/*
 * Calls the function of each option, which is `--name VALUE` or `--name=VALUE`, and sets each
 * switch, which has no value. Returns the other words. @help: the command that lists the options.
 */
inline std::vector<std::string> parse(const std::vector<std::string> &words, const Options &options,
				      const std::string &help,
				      const std::map<std::string, bool *> &switches = {})
{
	std::vector<std::string> others;

	for (size_t i = 0; i < words.size(); i++) {
		size_t equals = words[i].find('=');
		std::string option = words[i].substr(0, equals);

		if (option[0] != '-') {
			others.push_back(words[i]);
			continue;
		}
		if (switches.count(option)) {
			*switches.at(option) = true;
			continue;
		}
		if (!options.count(option))
			fail("no option '" + option + "'; see " + help);
		if (equals == std::string::npos && i + 1 == words.size())
			fail(option + " needs a value; see " + help);
		options.at(option)(option, equals == std::string::npos
						   ? words[++i]
						   : words[i].substr(equals + 1));
	}
	return others;
}

} // namespace lab

#endif
