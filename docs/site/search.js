// SPDX-License-Identifier: MIT
// The order of search results: functions and guides first, parameters last.
var Scorer = {
	score: ([docname, title, anchor, description, score]) => {
		if (/parameter/.test(description || ""))
			return score - 30;
		return docname.startsWith("guide/") ? score + 12 : docname.startsWith("design/") ? score - 4 : score;
	},
	objNameMatch: 11,
	objPartialMatch: 6,
	objPrio: { 0: 15, 1: 5, 2: -5 },
	objPrioDefault: 0,
	title: 15,
	partialTitle: 7,
	term: 5,
	partialTerm: 2,
};
