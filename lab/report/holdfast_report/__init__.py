# SPDX-License-Identifier: MIT
"""holdfast_report - what the lab measured, in words, tables and charts.

Use when     `hf-lab all --json` has written its results and a person is to read them.
Not when     a program is to read them: RESULTS.json is the raw data, and docs/results/README.md says what is in it.

Modules, each knowing only those above it
    rows          the data: Row, Aim, Results, Published
    blocks        what both outputs show: Section, Text, Bullets, Table, Chart; and how a figure is written
    verdict       who is best in a case, and what the default costs
    measured      tables of measured figures
    charts        panels of bars, lines and dots, for Vega-Lite
    family        one table of the lab, as it is unless its module says otherwise
    standard      the same, for one of ours beside the standard library's
    sized         the same, for a table of one line per size
    tables/       one module a table: its words, fields, tables and charts. Only results_page and cards, which choose rows, know a table's name too
    input         files -> Results, Published; every complaint is an InputError
    aims          the aims, as the results state them; this package judges none
    advice        what to use on this machine, and how sure that is
    cards         the first screen of the page: a card a primitive
    instructions  the reviewed table of instruction counts
    document      Results -> a list of blocks
    terminal, page    blocks -> output; neither decides anything
    command       the command line
    results_page  the archive -> docs/results.md and README's table
    machines_page the archive, and one's own results -> a page that lays all machines over each other

To add a table, add its module to tables/: it is found there.

Rules, cited in the code
    R1  A row whose count was wrong (checked = false) is shown as FAILED, in every place where it would have stood.
        It never wins, and no ratio to it is shown. A row without a figure is "not measured", and never wins either.
    R2  A winner that is compared with the default has fairness >= 0.95. A faster one that is less fair is named,
        with its figures.
    R3  A difference no larger than the noise is called that, not a gain or a loss: the spread of the two rows, the gap
        between the default and the same code measured again or under its own name, or 1 %, whichever is the most.
    R4  A variant with another contract (it catches no misuse, or needs memory that outlives the count) is no
        candidate for "best of ours"; its table's module names it, with the reason.
    R5  Each row of the results stands in exactly one table of measured figures.
"""
