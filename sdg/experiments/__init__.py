"""The composition root: configs in, objects built, tables, figures and reports out."""

if __name__ != "sdg.experiments":
    raise ImportError(f"{__name__} is a link for readers: import sdg.experiments")
