-- Returns the health of a PodManager from its conditions. It is Degraded only if a user has to act, not because pods are not ready for some time.
local function health(status, message)
  return {status = status, message = message}
end

local status = obj.status or {}
local conditions = {}
for _, condition in ipairs(status.conditions or {}) do
  conditions[condition.type] = condition
end
local ready, stalled, misconfigured = conditions.Ready, conditions.Stalled, conditions.Misconfigured

if obj.metadata.deletionTimestamp ~= nil then
  return health("Progressing", ready and ready.message or "being deleted")
end
-- The CRD sets observedGeneration to -1 until a controller has seen the object.
if status.observedGeneration == nil or status.observedGeneration < 1 then
  return health("Progressing", "no controller has seen it yet")
end
if ready == nil or status.observedGeneration ~= obj.metadata.generation then
  return health("Progressing", "the controller has not seen generation " .. obj.metadata.generation .. " yet")
end
if stalled ~= nil and stalled.status == "True" then
  return health("Degraded", stalled.message)
end
if misconfigured ~= nil and misconfigured.status == "True" then
  return health("Degraded", misconfigured.message)
end
if ready.reason == "Paused" or ready.reason == "PartitionReached" or ready.reason == "UpdateOnDelete" then
  return health("Suspended", ready.message)
end
if ready.status ~= "True" then
  return health("Progressing", ready.message)
end
if obj.spec.paused then
  return health("Suspended", "paused; " .. ready.message)
end
return health("Healthy", ready.message)
