"""The four stages once more, over programs: what recurs becomes composed skills, which are verified and kept."""
