-- Sharewell's part of slurmctld: /etc/slurm/job_submit.lua. Slurm 22.05 to 24.11.
--
-- 1. At submission it takes the GPU request out of the job and writes it into the job's AdminComment
--    (`sharewell1 ask=gpus:2,model:V100`), so that the server can set any shards later: Slurm 22.05
--    cannot turn a request for GPUs into one for shards. Then it holds the job (priority 0).
-- 2. It lets nobody but the server and root lift that hold, choose nodes or GPUs, or take the job out of
--    the partition; nor give GPUs to a job that has no note, or move one into a partition of ours:
--    it would run there without having been placed.
--
-- Jobs of other partitions are left as they are. Jobs of several components (heterogeneous jobs) that ask
-- for GPUs are refused: Slurm cannot hold and place their components one by one.
-- sharewell-rules-2: by this word `sharewell slurm check` tells it from older ones, which users could go round.
-- To take it back: remove lua from JobSubmitPlugins in slurm.conf, `scontrol reconfigure`, and release
-- what is held with sharewell-watchdog --now.

-- The partitions that Sharewell places jobs in; an empty list: all.
local PARTITIONS = {} -- @PARTITIONS@
-- Who may release and place jobs: root, and the user that `sharewell serve` runs as.
local SCHEDULERS = { [0] = true } -- @SCHEDULERS@
-- Also hold jobs that ask for no GPU, so that Sharewell places them beside training jobs.
local HOLD_CPU_JOBS = false -- @HOLD_CPU_JOBS@

local NO_VAL16, NO_VAL, INFINITE = 65534, 4294967294, 4294967295

local function number(value, default)
  if value == nil or value >= NO_VAL or value == NO_VAL16 then return default end
  return value
end

-- The partitions that a job names, or the default one.
local function is_ours(names, part_list)
  if next(PARTITIONS) == nil then return true end
  if names == nil or names == "" then
    for name, part in pairs(part_list) do
      if part.flag_default == 1 and PARTITIONS[name] then return true end
    end
    return false
  end
  for name in names:gmatch("[^,]+") do
    if PARTITIONS[name] then return true end
  end
  return false
end

local function is_gpu(tres)
  local name = tres:gsub("^gres[:/]", ""):match("^[^:=]+")
  return name == "gpu" or name == "shard" or name == "mps"
end

-- "gres:gpu:v100:2" (22.05), "gres/gpu:v100:2" (24.11), "gres/shard=40": kind, model and count.
local function parts_of(tres)
  local words = {}
  for word in tres:gsub("^gres[:/]", ""):gmatch("[^:=]+") do words[#words + 1] = word end
  local kind, model, count = words[1], nil, 1
  if #words == 2 then
    if words[2]:match("^%d+$") then count = tonumber(words[2]) else model = words[2] end
  elseif #words == 3 and words[3]:match("^%d+$") then
    model, count = words[2], tonumber(words[3])
  elseif #words ~= 1 then
    return nil
  end
  -- A slot (g0, g1) is no model: which GPU of a node it gets is not the user's to choose.
  if model ~= nil and model:match("^g%d+$") then model = nil end
  if model ~= nil and not model:match("^[%w_.%-]+$") then return nil end
  return kind, model, count
end

-- The fields that a job asks for GPUs in.
local GPU_FIELDS = { "tres_per_job", "tres_per_node", "tres_per_task", "tres_per_socket" }

local function has_gpus(job)
  for _, field in ipairs(GPU_FIELDS) do
    for tres in (job[field] or ""):gmatch("[^,]+") do
      if is_gpu(tres) then return true end
    end
  end
  return false
end

-- Takes the GPUs out of one field of the job: what was taken, and how many times the job has it.
local function take(job_desc, field)
  local value = job_desc[field]
  if value == nil or value == "" then return {} end
  local taken, kept = {}, {}
  for tres in value:gmatch("[^,]+") do
    local list = is_gpu(tres) and taken or kept
    list[#list + 1] = tres
  end
  -- 24.11 writes "cpu=2" into tres_per_task for `-c 2`: that part stays.
  if #taken > 0 then job_desc[field] = table.concat(kept, ",") end
  return taken
end

local function note_of(job_desc)
  local nodes = number(job_desc.min_nodes, 1)
  if nodes < 1 then nodes = 1 end
  local tasks = number(job_desc.num_tasks, nodes)
  -- With --exclusive Slurm gives a job all GPUs of its nodes, asked for or not.
  local gpus, model, exclusive, unclear, asked = 0, nil, job_desc.shared == 0, nil, job_desc.shared == 0
  local times = { tres_per_job = 1, tres_per_node = nodes, tres_per_task = tasks }
  for _, field in ipairs(GPU_FIELDS) do
    local in_field = 0
    for _, tres in ipairs(take(job_desc, field)) do
      asked = true
      local kind, its_model, count = parts_of(tres)
      if kind == nil or times[field] == nil or (model and its_model and model ~= its_model) then
        unclear = tres:gsub("^gres[:/]", "")
      else
        model = model or its_model
        if kind ~= "gpu" then
          -- Shards are hundredths of a GPU.
          if count > 99 then exclusive = true end
          count = math.ceil(count / 100)
        end
        in_field = in_field + count * times[field]
      end
    end
    -- --gpus and --gpus-per-node say the same twice.
    if in_field > gpus then gpus = in_field end
  end
  -- `-n4 --ntasks-per-gpu=2` asks for two GPUs without naming any.
  local per_gpu = number(job_desc.ntasks_per_gpu, 0)
  if per_gpu > 0 then
    asked = true
    if gpus == 0 and unclear == nil then gpus = math.ceil(tasks / per_gpu) end
    job_desc.ntasks_per_gpu = NO_VAL16
  end
  local ask = string.format("ask=gpus:%d", gpus)
  if model then ask = ask .. ",model:" .. model end
  if exclusive then ask = ask .. ",exclusive" end
  if job_desc.priority == 0 then ask = ask .. ",held" end -- sbatch --hold: `sharewell release` lets it go
  if unclear then
    ask = ask .. ",gres:" .. unclear:gsub("[^%w_.%-]", function(c) return string.format("%%%02X", c:byte()) end)
  end
  return "sharewell1 " .. ask, asked
end

-- Where the server reads what `scontrol show job` prints, a note stands between texts of the user's: none of these may
-- look like one. (Scripts on the nodes ask for the field of the note alone.)
local function pretends(job_desc)
  for _, field in ipairs({ "name", "comment", "work_dir", "std_out", "std_err", "std_in", "container", "licenses",
                           "features", "dependency", "wckey", "mail_user", "network", "extra" }) do
    local value = job_desc[field]
    if type(value) == "string" and value:find("AdminComment=", 1, true) then return field end
  end
  local words = job_desc.argv
  if type(words) ~= "table" then return nil end
  for _, word in pairs(words) do
    if type(word) == "string" and word:find("AdminComment=", 1, true) then return "command line" end
  end
  return nil
end

-- srun and salloc work like sbatch: they wait for their nodes until the job is placed.
function slurm_job_submit(job_desc, part_list, submit_uid)
  if not is_ours(job_desc.partition, part_list) then return slurm.SUCCESS end
  local forged = pretends(job_desc)
  if forged then
    slurm.log_user("sharewell: the job's %s may not contain AdminComment=", forged)
    return slurm.ERROR
  end
  local note, asked = note_of(job_desc)
  if number(job_desc.het_job_offset, nil) ~= nil then
    if not asked then return slurm.SUCCESS end
    slurm.log_user("sharewell: a heterogeneous job can neither ask for GPUs nor for whole nodes in this partition: " ..
                   "submit its components as jobs of their own, or use a partition that Sharewell does not place")
    return slurm.ERROR
  end
  if not asked and not HOLD_CPU_JOBS then return slurm.SUCCESS end
  -- A job without GPUs is placed on one node.
  if job_desc.shared == 0 and note:find("ask=gpus:0,", 1, true) and number(job_desc.min_nodes, 1) > 1 then
    slurm.log_user("sharewell: --exclusive on several nodes gives a job all GPUs of theirs: ask for GPUs with it " ..
                   "(--gres=gpu:1), so that it is placed, or use a partition that Sharewell does not place")
    return slurm.ERROR
  end
  job_desc.admin_comment = note
  job_desc.priority = 0
  return slurm.SUCCESS
end

-- A refusal reaches the user as "Unspecified error": Slurm has no words for job_modify, so they go to
-- slurmctld's log.
local function refuse(job_rec, uid, what)
  slurm.log_info("sharewell: user %d may not change %s of job %d: Sharewell places it (sharewell why %d)",
                 uid, what, job_rec.job_id, job_rec.job_id)
  return slurm.ERROR
end

-- A job that Sharewell never held, and so never places: it may have no GPUs in a partition of ours.
local function modify_stranger(job_desc, job_rec, part_list, uid)
  local partition = job_desc.partition
  if partition == nil or partition == "" then partition = job_rec.partition end
  if not is_ours(partition, part_list) then return slurm.SUCCESS end
  local forged = pretends(job_desc)
  if forged then return refuse(job_rec, uid, forged) end
  if has_gpus(job_desc) or number(job_desc.ntasks_per_gpu, 0) > 0 then
    slurm.log_info("sharewell: user %d may not give GPUs to job %d, which was submitted without: submit it with them",
                   uid, job_rec.job_id)
    return slurm.ERROR
  end
  -- With --exclusive Slurm gives it all GPUs of its nodes.
  if job_desc.shared == 0 then return refuse(job_rec, uid, "whether it has whole nodes") end
  if is_ours(job_rec.partition, part_list) then return slurm.SUCCESS end
  -- Whether it has whole nodes, or GPUs by its tasks, a job's record does not tell: so none is moved here.
  slurm.log_info("sharewell: user %d may not move job %d into partition %s: submit it there, so that it is placed",
                 uid, job_rec.job_id, partition)
  return slurm.ERROR
end

function slurm_job_modify(job_desc, job_rec, part_list, modify_uid)
  if SCHEDULERS[modify_uid] then return slurm.SUCCESS end
  local note = job_rec.admin_comment
  if note == nil or not note:match("^[\"']?sharewell1 ") then
    return modify_stranger(job_desc, job_rec, part_list, modify_uid)
  end
  local forged = pretends(job_desc)
  if forged then return refuse(job_rec, modify_uid, forged) end
  local priority = job_desc.priority
  if priority ~= nil and priority ~= NO_VAL and priority ~= 0 then
    return refuse(job_rec, modify_uid, "the hold")
  end
  -- With priority/basic a new Nice lifts the hold too (seen in 22.05: priority 0 became 2).
  if job_desc.nice ~= nil and job_desc.nice ~= NO_VAL then return refuse(job_rec, modify_uid, "nice") end
  for _, field in ipairs({ "tres_per_job", "tres_per_node", "tres_per_task", "tres_per_socket", "req_nodes",
                           "admin_comment", "partition" }) do
    if job_desc[field] ~= nil and job_desc[field] ~= "" and job_desc[field] ~= job_rec[field] then
      return refuse(job_rec, modify_uid, field)
    end
  end
  return slurm.SUCCESS
end

return slurm.SUCCESS
