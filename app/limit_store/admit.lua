-- Decides for a batch of turns of one copy whether each may begin, by limits that all copies share.
--
-- KEYS: 1 copies, 2 turns, 3 guests, 4 breakers; then one for each count; then two for each turn: its rate, its count.
-- ARGV: 1 this copy, 2 lease in ms, 3 most turns of all copies (0: no limit), 4 turns that it runs, 5 of them of guests,
--   6 number of counts, 7 number of turns, 8 number of breakers; then
--   for each count: how many turns of this owner the copy runs;
--   for each turn: requests per minute (0: no limit), concurrency (0: no limit), 1 for a guest, 1 if it has a fair
--     share only, how much of the rate the copy knows to be used;
--   for each breaker: the upstream, and the ms since it was opened (-1: it was closed).
-- Returns 1 if the copy was not known, else 0; a list of verdict, wait in ms and 1000 x used rate for each turn, one
--   after the other; a list of upstreams whose breaker is open, each with the ms since then.
--
-- Only this server's clock counts. A copy that says nothing for its lease no longer counts.
local copies, turns, guests, breakers = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local me, lease, most = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])
local counts, asked, changed = tonumber(ARGV[6]), tonumber(ARGV[7]), tonumber(ARGV[8])
local ADMITTED, RATE, CONCURRENCY, FULL, GUESTS_FULL, SHARE = 0, 1, 2, 3, 4, 5
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + tonumber(time[2]) / 1000
local arg, key = 9, 5

local function text(number)
  return string.format('%.3f', number)
end

local was_known = redis.call('ZSCORE', copies, me)
redis.call('ZADD', copies, text(now + lease), me)
redis.call('PEXPIRE', copies, lease)
local alive

local function is_alive(copy)
  if not alive then
    alive = {}
    for _, each in ipairs(redis.call('ZRANGEBYSCORE', copies, '(' .. text(now), text(now + lease))) do
      alive[each] = true
    end
  end
  return alive[copy]
end

local function sum(name)
  local total, fields = 0, redis.call('HGETALL', name)
  for i = 1, #fields, 2 do
    if is_alive(fields[i]) then
      total = total + tonumber(fields[i + 1])
    else
      redis.call('HDEL', name, fields[i])
    end
  end
  return total
end

local function count(name, number)
  if tonumber(number) > 0 then
    redis.call('HSET', name, me, number)
    redis.call('PEXPIRE', name, lease)
  else
    redis.call('HDEL', name, me)
  end
end

for i = 1, counts do
  count(KEYS[key], ARGV[arg])
  key, arg = key + 1, arg + 1
end

local own, own_guests = tonumber(ARGV[4]), tonumber(ARGV[5])
local total, total_guests = 0, 0
if most > 0 then
  count(turns, own)
  count(guests, own_guests)
  if asked > 0 then
    total, total_guests = sum(turns), sum(guests)
  end
end

local function used_of(name, per_minute, known)
  local fields = redis.call('HMGET', name, 'used', 'at')
  local used = tonumber(fields[1] or 0)
  local passed = math.max(0, now - tonumber(fields[2] or now))
  return math.max(known, math.min(per_minute, used) - passed * per_minute / 60000, 0)
end

local verdicts = {}
for i = 1, asked do
  local rate, running = KEYS[key], KEYS[key + 1]
  local per_minute, concurrency = tonumber(ARGV[arg]), tonumber(ARGV[arg + 1])
  local is_guest, shares = ARGV[arg + 2] == '1', ARGV[arg + 3] == '1'
  local known = tonumber(ARGV[arg + 4])
  key, arg = key + 2, arg + 5
  local verdict, wait, used = ADMITTED, 0, 0
  if most > 0 then
    local free, for_guests = most - total, math.max(1, math.floor(most / 2))
    if free <= 0 then
      verdict = FULL
    elseif is_guest and total_guests >= for_guests then
      verdict = GUESTS_FULL
    else
      if is_guest then
        free = math.min(free, for_guests - total_guests)
      end
      if shares and sum(running) >= free then
        verdict = SHARE
      end
    end
  end
  if verdict == ADMITTED and concurrency > 0 and sum(running) >= concurrency then
    verdict = CONCURRENCY
  end
  if per_minute > 0 then
    used = used_of(rate, per_minute, math.min(known, per_minute))
    if verdict == ADMITTED and per_minute - used < 1 then
      verdict, wait = RATE, math.ceil((1 - per_minute + used) * 60000 / per_minute)
    elseif verdict == ADMITTED then
      used = used + 1
    end
    if verdict == ADMITTED or known > 0 then -- the copy says only once what it knows
      redis.call('HSET', rate, 'used', string.format('%.6f', used), 'at', text(now))
      redis.call('PEXPIRE', rate, 61000)
    end
  end
  if verdict == ADMITTED and (most > 0 or concurrency > 0) then
    redis.call('HINCRBY', running, me, 1)
    redis.call('PEXPIRE', running, lease)
  end
  if verdict == ADMITTED and most > 0 then
    own, total = own + 1, total + 1
    redis.call('HSET', turns, me, own)
    redis.call('PEXPIRE', turns, lease)
    if is_guest then
      own_guests, total_guests = own_guests + 1, total_guests + 1
      redis.call('HSET', guests, me, own_guests)
      redis.call('PEXPIRE', guests, lease)
    end
  end
  verdicts[#verdicts + 1] = verdict
  verdicts[#verdicts + 1] = wait
  verdicts[#verdicts + 1] = math.ceil(used * 1000)
end

for i = 1, changed do
  local open_for = tonumber(ARGV[arg + 1])
  if open_for >= 0 then -- of several times the last one counts
    local known = tonumber(redis.call('HGET', breakers, ARGV[arg]) or 0)
    local opened = math.max(now - open_for, math.min(now, known))
    redis.call('HSET', breakers, ARGV[arg], text(opened))
    redis.call('PEXPIRE', breakers, 86400000)
  else
    redis.call('HDEL', breakers, ARGV[arg])
  end
  arg = arg + 2
end

local open, fields = {}, redis.call('HGETALL', breakers)
for i = 1, #fields, 2 do
  open[#open + 1] = fields[i]
  open[#open + 1] = math.floor(math.max(0, now - tonumber(fields[i + 1])))
end

if not was_known then
  redis.call('ZREMRANGEBYSCORE', copies, '-inf', text(now))
end
return {was_known and 0 or 1, verdicts, open}
