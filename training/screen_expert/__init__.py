"""A solver of the looked-at screen tasks: rules and a script for each. It makes examples and is no agent."""
