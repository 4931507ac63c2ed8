"""The dialect of servers that speak Responses themselves: their events are passed on."""
