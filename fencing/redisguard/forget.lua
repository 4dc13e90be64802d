-- KEYS: mark. A mark of any type goes: this is also the repair for a corrupt one.
return {'passed', redis.call('DEL', KEYS[1])}
