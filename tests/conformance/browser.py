"""Headless Chromium for the tests of the report's page; without it they fail and say how it is installed."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

try:
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service
except ImportError:
    webdriver = None

ADVICE = "Install it with `bash ci/browser` (Debian's chromium and chromium-driver, and Selenium into .venv)."


@contextmanager
def chromium(folder: Path) -> Iterator[Any]:
    """A browser without network whose profile lies in a folder."""
    program, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if webdriver is None or program is None or driver is None:
        missing = "Selenium" if webdriver is None else "chromium" if program is None else "chromedriver"
        pytest.fail(f"the report's page cannot be tested: got no {missing}, expected one. {ADVICE}")
    options = webdriver.ChromeOptions()
    options.binary_location = program
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    for switch in (
        "headless=new",
        "no-sandbox",
        "disable-dev-shm-usage",
        "disable-gpu",
        "window-size=1400,1000",
    ):
        options.add_argument(f"--{switch}")
    options.add_argument("--proxy-server=127.0.0.1:1")  # whatever the page might fetch cannot be reached
    options.add_argument(f"--user-data-dir={folder / 'profile'}")
    browser = webdriver.Chrome(options=options, service=Service(driver))
    try:
        yield browser
    finally:
        browser.quit()
