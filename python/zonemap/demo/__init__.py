"""The demo behind ``zonemap demo``: a lake of real flights, and the same queries with the index off and on."""
