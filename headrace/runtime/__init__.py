"""Programs that run: started, watched, restarted, stopped."""
