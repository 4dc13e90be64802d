for i = 1, #KEYS - n do
  if reply[2 + i] == 1 or not held[i] then
    reply[2 + i] = reply[2 + i] + 2 * notifynext(KEYS[n + i], KEYS[i])
  end
end
return reply
