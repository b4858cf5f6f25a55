"""The composition root: configs in, objects built, tables, figures and reports out."""
