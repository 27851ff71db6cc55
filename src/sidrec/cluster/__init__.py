"""The same work on Ray, where one machine is too small; imported only where somebody asks for it."""
