"""How a case is put to a backend and how its answer is judged, always on the host."""
