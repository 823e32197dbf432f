"""`junit.xml`: a test suite for each kind of check, a test case for each case, as CI services read it.

PASS and WAIVED pass; BLOCKED is skipped, as its root has failed already; everything else is a failure.
"""

from __future__ import annotations

import collections
import re
from xml.etree import ElementTree

from tenora_conformance.model import Result, Status
from tenora_conformance.report.read import Run

#: What XML 1.0 cannot hold; a failing backend may print anything.
_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def junit_text(run: Run) -> str:
    """The XML of a run."""
    by_check: dict[str, list[Result]] = collections.defaultdict(list)
    for result in run.results:
        by_check[result.check].append(result)
    root = ElementTree.Element("testsuites", name=f"tenora-conformance {run.header.backend}")
    for check, results in by_check.items():
        failed = sum(_is_failure(result) for result in results)
        blocked = sum(result.status is Status.BLOCKED for result in results)
        suite = ElementTree.SubElement(
            root,
            "testsuite",
            name=check,
            tests=str(len(results)),
            failures=str(failed),
            skipped=str(blocked),
            time=f"{sum(result.seconds for result in results):.3f}",
        )
        for result in results:
            _add(suite, result)
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def _is_failure(result: Result) -> bool:
    return result.status not in (Status.PASS, Status.WAIVED, Status.BLOCKED)


def _add(suite: ElementTree.Element, result: Result) -> None:
    op, _, rest = result.case.partition("/")
    case = ElementTree.SubElement(
        suite, "testcase", classname=f"{result.check}.{op}", name=rest, time=f"{result.seconds:.4f}"
    )
    if result.passed:
        return
    said = _NOT_XML.sub("?", result.message)
    if result.status is Status.WAIVED:
        ElementTree.SubElement(case, "system-out").text = f"WAIVED by {result.waiver}: {said}"
    elif result.status is Status.BLOCKED:
        ElementTree.SubElement(case, "skipped", message=f"BLOCKED by {result.root}")
    else:
        failure = ElementTree.SubElement(case, "failure", type=result.status.value, message=said)
        failure.text = _NOT_XML.sub("?", result.detail.traceback) if result.detail else ""
