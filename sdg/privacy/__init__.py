"""The security protector: sensitive values leave this machine as placeholders only (ResponsibleTA, section 3)."""
