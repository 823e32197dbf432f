"""Runs cases: one by one in this process, or in shards of processes that may end as they like."""
