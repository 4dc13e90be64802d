for i = 1, #KEYS - n do
  if reply[1 + i] == 1 or not held[i] then
    reply[1 + i] = reply[1 + i] + 2 * notifynext(KEYS[n + i], KEYS[i])
  end
end
return reply
