"""Writes dates.json: parts of dates by Python's zoneinfo, to hold derived features against. Run in this folder."""

import json
from datetime import datetime, timedelta, timezone
from zoneinfo import ZoneInfo

ZONES = ["UTC", "Europe/Berlin", "America/New_York", "Asia/Kolkata", "Australia/Lord_Howe", "America/St_Johns",
         "Pacific/Apia", "Africa/Casablanca", "Asia/Kathmandu"]
AROUND = ["2024-02-28T23:30", "2024-02-29T12:00", "2023-02-28T23:59", "2000-02-29T00:00", "1900-03-01T00:00",
          "2026-03-29T00:59", "2026-03-29T01:00", "2026-10-25T00:59", "2026-10-25T01:00", "2026-10-25T02:00",
          "2025-03-09T06:59", "2025-03-09T07:00", "2025-11-02T05:30", "2025-11-02T06:30", "2011-12-30T09:59",
          "2011-12-30T10:01", "1969-12-31T23:59", "1970-01-01T00:01", "2037-07-01T12:00", "2099-12-31T23:59",
          "1985-07-01T03:00", "2012-06-30T23:59", "2025-12-31T18:29", "2025-12-31T18:30"]

rows = []
for zone in ZONES:
    for text in AROUND:
        at = datetime.fromisoformat(text).replace(tzinfo=timezone.utc)
        seconds = (at - datetime(1970, 1, 1, tzinfo=timezone.utc)) // timedelta(seconds=1)
        t = at.astimezone(ZoneInfo(zone))
        rows.append([zone, seconds, t.hour, t.isoweekday(), t.day, t.month])
with open("dates.json", "w") as f:
    f.write("[" + ",\n".join(json.dumps(r) for r in rows) + "]\n")
