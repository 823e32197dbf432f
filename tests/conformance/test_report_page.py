"""The report's page in headless Chromium: it opens alone, filters, and shows each failure with its reproduction."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from browser import chromium
from report_cases import built, fail, sound_run

from tenora_conformance.model import Result, Status
from tenora_conformance.report.read import Run

pytestmark = pytest.mark.browser
EVIL = "</script><script>document.title = 'taken'</script><img src=x onerror=\"document.title='taken'\">"


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    with chromium(tmp_path_factory.mktemp("browser")) as opened:
        yield opened


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A report with a failure of each kind."""
    run = sound_run()
    fail(run, "relu/float32/contiguous/0", message=EVIL)
    fail(run, "relu/int64/contiguous/0", Status.BLOCKED, root="relu/float32/contiguous/0")
    fail(run, "relu/bool/contiguous/0", Status.WAIVED, waiver="w1")
    fail(run, "add/int64/strided/2", Status.CRASH, message="ended by SIGSEGV")
    path = tmp_path_factory.mktemp("report")
    built(path, run)
    return path


@pytest.fixture
def page(browser: Any, folder: Path) -> Callable[..., Any]:
    """`page(status="FAIL", ...)` opens the report with these filters in its address."""

    def open_page(**filters: str) -> Any:
        browser.get("about:blank")
        browser.get(f"{(folder / 'report.html').as_uri()}#{urlencode(filters)}")
        return browser

    return open_page


def texts(page: Any, selector: str) -> list[str]:
    return [each.text for each in page.find_elements("css selector", selector)]


def shown_cases(page: Any) -> list[str]:
    return texts(page, ".case .name")


def count(page: Any) -> str:
    return str(page.find_element("id", "count").text)


def type_into(page: Any, name: str, text: str) -> None:
    page.find_element("id", name).clear()
    page.find_element("id", name).send_keys(text)


def test_it_opens_alone(page: Callable[..., Any]) -> None:
    here = page()
    assert here.title == "reference meets L0: tenora conformance"
    assert [entry["message"] for entry in here.get_log("browser")] == []
    assert (
        here.execute_script("return performance.getEntriesByType('resource').map((each) => each.name)") == []
    )
    assert texts(here, "#levels tbody tr")[1] == "L1 not met 6 5 PASS, 1 CRASH 1 CRASH"
    assert count(here) == "12 of 12 cases"


def test_it_names_no_address(folder: Path) -> None:
    text = (folder / "report.html").read_text()
    assert (
        "http:" not in text
        and "https:" not in text.replace("https://json-schema.org", "")
        and "//cdn" not in text
    )


def test_the_statuses_filter(page: Callable[..., Any]) -> None:
    here = page()
    buttons = {each.text: each for each in here.find_elements("css selector", "#statuses button")}
    assert set(buttons) == {"PASS 8", "FAIL 1", "BLOCKED 1", "WAIVED 1", "CRASH 1"}
    buttons["CRASH 1"].click()
    assert shown_cases(here) == ["add/int64/strided/2"] and count(here) == "1 of 12 cases"
    assert "status=CRASH" in here.current_url
    buttons["CRASH 1"].click()
    assert count(here) == "12 of 12 cases"


@pytest.mark.parametrize(
    ("filters", "cases"),
    [
        ({"level": "L3"}, ["@train/float32/-/mlp:training", "relu/float32/contiguous/0:gradient"]),
        ({"check": "gradient"}, ["relu/float32/contiguous/0:gradient"]),
        ({"op": "relu", "dtype": "bool"}, ["relu/bool/contiguous/0"]),
        ({"text": "sigsegv"}, ["add/int64/strided/2"]),
        ({"text": "STRIDED/1"}, ["add/float32/strided/1", "add/int64/strided/1"]),
        ({"status": "PASS", "op": "relu"}, ["relu/float32/contiguous/0:gradient"]),
        ({"status": "FAIL", "dtype": "int64"}, []),
    ],
)
def test_the_filters_of_the_address(
    page: Callable[..., Any], filters: dict[str, str], cases: list[str]
) -> None:
    here = page(**filters)
    assert shown_cases(here) == cases and count(here) == f"{len(cases)} of 12 cases"
    for name in filters.keys() - {"status"}:
        assert here.find_element("id", name).get_property("value") == filters[name]


def test_typed_filters_and_clear(page: Callable[..., Any]) -> None:
    here = page()
    type_into(here, "op", "relu")
    assert count(here) == "4 of 12 cases"
    type_into(here, "text", "int64")
    assert shown_cases(here) == ["relu/int64/contiguous/0"]
    here.find_element("id", "clear").click()
    assert count(here) == "12 of 12 cases" and here.find_element("id", "op").get_property("value") == ""


def test_the_table_of_ops_and_dtypes(page: Callable[..., Any]) -> None:
    here = page()
    table = here.find_element("css selector", "#matrix table")
    header = texts(table, "thead th")
    rows = {row.split()[0]: row for row in texts(table, "tbody tr")}
    assert header == ["op", "-", "bool", "float32", "int64"] and set(rows) == {
        "add",
        "@loading",
        "relu",
        "@train",
    }
    assert rows["add"] == "add 3 1 of 3"
    cell = here.find_element("css selector", "#matrix td[data-op='add'][data-dtype='int64']")
    assert "some" in cell.get_attribute("class")
    cell.click()
    assert count(here) == "3 of 12 cases" and "op=add&dtype=int64" in here.current_url
    assert set(texts(here, "#matrix tbody th")) == {"add"}


def test_a_failure_is_shown_with_its_reproduction(page: Callable[..., Any]) -> None:
    here = page(status="FAIL")
    here.find_element("css selector", ".case").click()
    titles, blocks = texts(here, "#detail h4"), texts(here, "#detail pre")
    told = dict(zip(titles, blocks, strict=True))
    assert told["Message"] == EVIL and here.title.startswith("reference")
    assert told["Call"] == "tenora.relu(x)" and told["Input 0"] == "[1.0, 3.0]"
    assert (
        told["Expected"] == "[1.0, 3.0]"
        and told["Got"] == "[1.0, 2.0]"
        and told["First wrong element"] == "(1,)"
    )
    assert told["Reproduce"] == (
        "tenora-conformance run reference --device cpu --explain 'relu/float32/contiguous/0'"
    )
    assert told["As a program"].startswith("from math import") and "op(x0)" in told["As a program"]
    button = here.find_element("css selector", "#detail button")
    button.click()
    assert button.text == "Copied"
    type_into(here, "text", "")
    here.find_element("id", "text").send_keys(here.execute_script("return '\ue009v\ue000'"))
    assert here.find_element("id", "text").get_property("value") == told["Reproduce"]


def test_a_case_in_the_address_is_open(page: Callable[..., Any]) -> None:
    here = page(case="relu/int64/contiguous/0")
    assert texts(here, "#detail h3") == ["relu/int64/contiguous/0"]
    assert "relu/float32/contiguous/0" in texts(here, "#detail pre")


def test_the_keyboard_moves_through_the_cases(page: Callable[..., Any]) -> None:
    here = page(op="add")
    assert shown_cases(here)[0] == "add/int64/strided/2"  # what is no pass comes first
    here.find_element("css selector", ".case").click()
    here.find_element("id", "list").send_keys("\ue015\ue015\ue013")
    assert texts(here, "#detail h3") == ["add/float32/strided/0"]


def large_run() -> Run:
    """60,000 cases of 500 ops, a tenth of which fail."""
    run = sound_run()
    run.results = [
        Result(
            f"op{k % 500}/d{k % 15}/strided/{k}",
            1 + k % 3,
            "values",
            Status.FAIL if k % 10 == 0 else Status.PASS,
            "wrong" if k % 10 == 0 else "",
        )
        for k in range(60_000)
    ]
    return run


def test_sixty_thousand_cases_draw_only_what_is_in_view(browser: Any, tmp_path: Path) -> None:
    run = large_run()
    built(tmp_path, run)
    assert (tmp_path / "report.html").stat().st_size < 4_000_000
    browser.get((tmp_path / "report.html").as_uri())
    assert count(browser) == "60000 of 60000 cases"
    assert len(browser.find_elements("css selector", ".case")) < 60
    browser.execute_script("document.getElementById('list').scrollTop = 1e9")
    browser.execute_async_script("requestAnimationFrame(() => requestAnimationFrame(arguments[0]))")
    cases = shown_cases(browser)
    assert len(cases) < 60 and cases[-1] == max(result.case for result in run.results if result.passed)
    type_into(browser, "text", "strided/5999")
    assert count(browser) == "11 of 60000 cases"
