-- Sharewell's part of srun: /etc/slurm/cli_filter.lua, with CliFilterPlugins=lua in slurm.conf. Slurm 22.05 to 24.11.
--
-- A placed job has shards and no GPUs, so that Slurm refuses a step that asks for one (srun --gres=gpu:1). Inside such
-- a job this asks for the shards of as many of the job's GPUs in its place. It runs as the user and guards nothing: who
-- leaves it out has the refusal back.

local GPU_OPTIONS = { "gres", "gpus", "gpus-per-node", "gpus-per-task" }

-- What the job was given on each node, "shard:g0:40" of each GPU, and the shards of one; nil: no place of ours.
local function place_of(job)
  local asked = io.popen("timeout 10 scontrol show job -o " .. job .. " 2>/dev/null")
  local text = asked and asked:read("*a") or ""
  if asked then asked:close() end
  local put = text:match(" AdminComment=[\"']?sharewell1 [^=]*ask=%S+ put=([^%s\"']+)")
  local slots, shards = (put or ""):match("^%d+,[^,:/]+:([^,/]+)[^,]*,.-shards:(%d+)")
  if slots == nil or slots:match("^gpu") then return nil end
  local names = {}
  for slot in slots:gmatch("[^+]+") do names[#names + 1] = "shard:" .. slot .. ":" .. shards end
  return names, shards
end

-- The GPUs of "gres:gpu:V100:2", "gpu:2", "gpu", "2", "V100:2"; nil: it asks for something else too.
local function count_in(option, value)
  value = value:gsub("^gres[:/]", "")
  if option == "gres" then
    if value ~= "gpu" and not value:match("^gpu[:=]") then return nil end
    value = value:sub(5)
  end
  return value == "" and 1 or tonumber(value:match("(%d+)$") or (not value:find("[,%s]") and 1))
end

function slurm_cli_setup_defaults() return slurm.SUCCESS end

function slurm_cli_pre_submit(options)
  local job = (os.getenv("SLURM_JOB_ID") or ""):match("^%d+$")
  if options["type"] ~= "srun" or job == nil then return slurm.SUCCESS end
  local wanted
  for _, option in ipairs(GPU_OPTIONS) do
    local value = options[option]
    if value ~= nil and value ~= "" and value ~= "none" then
      local count = not wanted and count_in(option, value)
      if not count then return slurm.SUCCESS end
      wanted = { option = option, count = count }
    end
  end
  if wanted == nil then return slurm.SUCCESS end
  local gpus, shards = place_of(job)
  if gpus == nil or wanted.count > #gpus then return slurm.SUCCESS end -- Slurm has the answer
  if wanted.option ~= "gres" then options[wanted.option] = "" end
  -- Of one GPU Slurm looks for one that no other step has.
  options["gres"] = wanted.count == 1 and "shard:" .. shards or table.concat(gpus, ",", 1, wanted.count)
  return slurm.SUCCESS
end

function slurm_cli_post_submit() return slurm.SUCCESS end
