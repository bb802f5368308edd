"""What is pruned, class by class: files planned by Iceberg and by the index, beside what is possible at best."""
