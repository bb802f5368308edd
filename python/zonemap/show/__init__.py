"""Pages and tables for people, and their colours."""
