# SPDX-License-Identifier: MIT
"""One module a table: its words, fields, tables and charts. Each offers TABLE; a module that is added is found."""

from __future__ import annotations

import functools
import importlib
import pkgutil

from ..family import Family
from ..rows import Results


@functools.cache
def known() -> dict[str, Family]:
    modules = [importlib.import_module(f"{__name__}.{m.name}") for m in pkgutil.iter_modules(__path__)]
    families = sorted((m.TABLE for m in modules), key=lambda f: (f.order, f.name))
    return {f.name: f for f in families}


def family(name: str) -> Family:
    """A table that has no module is shown as any other."""
    return known().get(name) or Family(name)


def of(results: Results) -> list[Family]:
    """Those of the results that have rows: in the modules' order, then in the file's."""
    names = list(dict.fromkeys(r.table for r in results.rows))
    return [family(n) for n in sorted(names, key=lambda n: (family(n).order, names.index(n)))]
