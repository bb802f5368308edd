"""The Atlas table of the talk that introduced Iceberg, planned and queried with the index off and on."""
