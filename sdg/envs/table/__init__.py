"""A torque-driven arm over a table: Pusher's, with one to three coloured blocks, coloured spots and instructions."""
