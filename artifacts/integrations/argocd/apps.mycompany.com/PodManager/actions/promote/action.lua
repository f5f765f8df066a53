-- Sets the partition to 0, so that all pods get the new revision.
local strategy = obj.spec.updateStrategy or {}
if strategy.type ~= nil and strategy.type ~= "RollingUpdate" then
  error("the update strategy " .. strategy.type .. " has no partition to lower", 0)
end
if strategy.rollingUpdate ~= nil and strategy.rollingUpdate.partition ~= nil then
  strategy.rollingUpdate.partition = 0
end
return obj
