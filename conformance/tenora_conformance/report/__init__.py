"""What a run leaves behind: `report.json`, `report.md`, `report.html`, JUnit XML, a badge; and what reads them."""
