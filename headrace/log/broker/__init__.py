"""The managed broker: started, found, watched and stopped."""
