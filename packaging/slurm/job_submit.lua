-- Sharewell's part of slurmctld: /etc/slurm/job_submit.lua. Slurm 22.05 to 24.11.
--
-- 1. At submission it takes the GPU request out of the job and writes it into the job's AdminComment
--    (`sharewell1 ask=gpus:2,model:V100`), so that the server can set any shards later: Slurm 22.05
--    cannot turn a request for GPUs into one for shards. Then it holds the job (priority 0).
-- 2. A job whose options Sharewell cannot carry out (why_plain) it leaves to plain Slurm as it is, with whole
--    GPUs, not held: `sharewell1 plain=--gpu-bind`. The user is told so.
-- 3. It lets nobody but the server and root lift that hold, choose nodes or GPUs, or take the job out of
--    the partition; nor give GPUs to a job that has no note, or move one into a partition of ours:
--    it would run there without having been placed. A job that root releases before it was placed has the GPUs again
--    that it had asked for.
--
-- 4. A job that no node of the partition could ever run is refused, as plain Slurm does it (fits_nowhere): a held job
--    is not looked at by Slurm.
-- 5. Why a job waits the server writes into its comment (squeue -o %k), where its user has none: it never overwrites
--    words of the user's, and a place takes it back.
--
-- Jobs of other partitions are left as they are, but for shards of our slots, which nobody may ask for by himself.
-- sharewell-rules-3: by this word `sharewell slurm check` tells it from older ones, which would let the server
-- overwrite a comment.
-- To take it back: remove lua from JobSubmitPlugins in slurm.conf, `scontrol reconfigure`, and release
-- what is held with sharewell-watchdog --now.

-- The partitions that Sharewell places jobs in; an empty list: all.
local PARTITIONS = {} -- @PARTITIONS@
-- Of their jobs, those that any of these lets in, and no others; empty: all. Such as { partition = { share = true },
-- qos = { share = true }, account = { lab = true }, user = { ann = true }, comment = true }; comment: those whose
-- comment begins with the word sharewell.
local OPT_IN = {} -- @OPT_IN@
-- Who may release and place jobs: root, and the user that `sharewell serve` runs as.
local SCHEDULERS = { [0] = true } -- @SCHEDULERS@
-- Whether cli_filter.lua is on every host: steps that ask for GPUs (srun --gres=gpu:1 in a script) have those of their
-- job then, and such a job need not be left to plain Slurm.
local CLI_FILTER = false -- @CLI_FILTER@
-- Also hold jobs that ask for no GPU, so that Sharewell places them beside training jobs.
local HOLD_CPU_JOBS = false -- @HOLD_CPU_JOBS@

-- Slurm's number for "Requested node configuration is not available".
local ESLURM_REQUESTED_NODE_CONFIG_UNAVAILABLE = 2014
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

-- Whether the job itself is let in: its user, account, QOS, partition or comment.
local function is_let_in(job_desc)
  if next(OPT_IN) == nil then return true end
  local has = { user = job_desc.user_name, account = job_desc.account or job_desc.default_account,
                qos = job_desc.qos or job_desc.default_qos, partition = job_desc.partition }
  for name, value in pairs(has) do
    if OPT_IN[name] and OPT_IN[name][value] then return true end
  end
  return OPT_IN.comment == true and (job_desc.comment or ""):match("^%s*[\"']?sharewell%f[^%w_]") ~= nil
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

-- The GPUs among what one field asks for.
local function gpus_in(value)
  local gpus = {}
  for tres in (value or ""):gmatch("[^,]+") do
    if is_gpu(tres) then gpus[#gpus + 1] = tres end
  end
  return gpus
end

local function has_gpus(job)
  for _, field in ipairs(GPU_FIELDS) do
    if gpus_in(job[field])[1] then return true end
  end
  return number(job.ntasks_per_gpu, 0) > 0
end

-- Shards of our slots, as the server alone sets them.
local function has_slots(job)
  for _, field in ipairs(GPU_FIELDS) do
    if (job[field] or ""):find("shard[:=]g%d") then return true end
  end
  return false
end

-- Puts something else in the place of each GPU of a field; nil: nothing.
local function put_gpus(job_desc, field, other)
  local value = job_desc[field]
  if not gpus_in(value)[1] then return end
  local kept = {}
  for tres in value:gmatch("[^,]+") do
    -- 24.11 writes "cpu=2" into tres_per_task for `-c 2`: that part stays.
    kept[#kept + 1] = not is_gpu(tres) and tres or other(tres)
  end
  job_desc[field] = table.concat(kept, ",")
end

-- A feature that slurm.conf, beside this file, has for that word, however it is written; nil: none.
local function feature_of(model)
  local folder = debug.getinfo(1, "S").source:match("^@(.*/)")
  local file = folder and io.open(folder .. "slurm.conf")
  local found
  for line in (file and file:lines() or function() return nil end) do
    local words = not line:match("^%s*#") and line:match("[Ff]eatures?=\"?([^%s\"]+)") or ""
    for word in words:gmatch("[^,]+") do
      if word:lower() == model:lower() then found = word end
    end
  end
  if file then file:close() end
  return found
end

-- The names of a host list as Slurm writes it, n[1-4,07],m1, as keys; nil: it has more than one bracket a name.
local function hosts_of(list)
  local names = {}
  while list ~= "" do
    local name, ranges, rest = list:match("^([^,%[%]]*)(%b[])(.*)$")
    if name == nil then
      name, rest = list:match("^([^,%[%]]+)(.*)$")
    end
    if name == nil or not (rest == "" or rest:sub(1, 1) == ",") then return nil end
    if ranges == nil then names[name] = true end
    for range in (ranges or "[]"):sub(2, -2):gmatch("[^,]+") do
      local first, last = range:match("^(%d+)-(%d+)$")
      first = first or range:match("^%d+$")
      if first == nil then return nil end
      for at = tonumber(first), tonumber(last or first) do
        names[name .. string.format("%0" .. #first .. "d", at)] = true
      end
    end
    list = rest:sub(2)
  end
  return names
end

-- How many GPUs a line's Gres=gpu:g0:1,gpu:g1:1,shard:g0:100 gives a node, and all its words for a model.
local function gpus_of_line(line)
  local count, words = 0, line:match("[Ff]eatures?=\"?([^%s\"]+)") or ""
  for tres in (line:match("[Gg][Rr][Ee][Ss]=\"?([^%s\"]+)") or ""):gsub("%b()", ""):gmatch("[^,]+") do
    local kind, model, its_count = parts_of(tres)
    if kind == nil then return nil end
    if kind == "gpu" then
      count = count + its_count
      words = words .. "," .. (model or "")
    end
  end
  return count, words:lower()
end

-- The GPUs of each node of a list by the text of a slurm.conf: { { gpus = 4, words = "v100" }, ... }; nil: it does not
-- say in a way that is understood here (files that it includes, nodes that come and go).
local function nodes_in(text, list)
  local wanted, nodes = hosts_of(list), {}
  if wanted == nil then return nil end
  for line in text:gsub("\\[ \t]*\r?\n", " "):gmatch("[^\r\n]+") do
    line = line:gsub("#.*", "")
    local names = line:match("^%s*[Nn][Oo][Dd][Ee][Nn][Aa][Mm][Ee]=\"?([^%s\"]+)")
    if line:lower():match("^%s*include%s") then return nil end
    if names then
      local hosts, gpus, words = hosts_of(names), gpus_of_line(line)
      if hosts == nil or gpus == nil or hosts.DEFAULT then return nil end
      for host in pairs(hosts) do
        if wanted[host] then nodes[#nodes + 1] = { gpus = gpus, words = words } end
        wanted[host] = nil
      end
    end
  end
  return next(wanted) == nil and nodes or nil
end

-- The same by the slurm.conf beside this file, which is read for each job and understood once.
local understood = {} -- by list
local function nodes_of(partition)
  local folder = debug.getinfo(1, "S").source:match("^@(.*/)")
  local file = folder and io.open(folder .. "slurm.conf")
  local text, list = file and file:read("*a"), partition.nodes or ""
  if file then file:close() end
  if text == nil then return nil end
  local last = understood[list]
  if last == nil or last.text ~= text then
    last = { text = text, nodes = nodes_in(text, list) }
    understood[list] = last
  end
  return last.nodes
end

local function count_of(count, what) return string.format("%d %s%s", count, what, count == 1 and "" or "s") end

-- Why no node of its partition could ever run a job with this note; nil: one could, or that is not known. Second:
-- another word for why_plain, where Slurm can spread its GPUs and Sharewell, with as many on each node, cannot.
local function fits_nowhere(job_desc, part_list, note)
  local name = job_desc.partition
  for one, part in pairs(part_list) do
    if (name == nil or name == "") and part.flag_default == 1 then name = one end
  end
  local gpus, model = tonumber(note:match("ask=gpus:(%d+)")), note:match(",model:([%w_.-]+)")
  local part = name and part_list[name]
  local nodes = part and gpus > 0 and nodes_of(part)
  if not nodes then return nil end
  local wanted = math.max(number(job_desc.min_nodes, 1), 1)
  local of_node, enough, most, all = math.ceil(gpus / wanted), 0, 0, 0
  for _, node in ipairs(nodes) do
    local is_model = model == nil
    for word in node.words:gmatch("[^,]+") do
      local low = (model or ""):lower()
      is_model = is_model or word:find(low, 1, true) or low:find(word, 1, true)
    end
    if is_model then
      if node.gpus >= of_node then enough = enough + 1 end
      most, all = math.max(most, node.gpus), all + node.gpus
    end
  end
  local of_model = model and " of model " .. model or ""
  if most == 0 then return string.format("no node of partition %s has GPUs%s", name, of_model) end
  if note:find(",anywhere", 1, true) then
    if gpus > all then
      return string.format("partition %s has %s%s, and the job asks for %d", name, count_of(all, "GPU"), of_model, gpus)
    end
    return nil, wanted > 1 and enough < wanted and "uneven-gpus" or nil
  end
  if enough >= wanted then return nil end
  if most < of_node then
    return string.format("a node of partition %s has at most %s%s, and the job asks for %d", name,
                         count_of(most, "GPU"), of_model, of_node)
  end
  return string.format("partition %s has %s with %s%s, and the job asks for %d", name, count_of(enough, "node"),
                       count_of(of_node, "GPU"), of_model, wanted)
end

local function add_feature(job_desc, features, feature)
  if features and features:find("[^%w_.&-]") then features = "(" .. features .. ")" end
  job_desc.features = (features or "") ~= "" and features .. "&" .. feature or feature
end

-- What --gpus-per-task=1 says of one task by itself from 24.11 on: nothing.
local function is_own_task(bind) return bind:match("^gres[:/]gpu:per_task:%d+$") ~= nil end

-- Why plain Slurm has to run it: an option that says more of the GPUs than how many a job has, or that nobody but
-- Slurm can carry out. Absent: Sharewell can place it.
local function why_plain(job_desc)
  if number(job_desc.het_job_offset, nil) ~= nil then return "heterogeneous" end
  if (job_desc.partition or ""):find(",", 1, true) then return "several-partitions" end
  for field, option in pairs({ tres_bind = "--gpu-bind", tres_freq = "--gpu-freq", cpus_per_tres = "--cpus-per-gpu",
                               mem_per_tres = "--mem-per-gpu" }) do
    if (job_desc[field] or "") ~= "" and not is_own_task(job_desc[field]) then return option end
  end
  if number(job_desc.ntasks_per_gpu, 0) > 0 then return "--ntasks-per-gpu" end
  if gpus_in(job_desc.tres_per_socket)[1] then return "--gpus-per-socket" end
  -- Each task is shown its own GPUs.
  if gpus_in(job_desc.tres_per_task)[1] and number(job_desc.num_tasks, 1) ~= 1 then return "--gpus-per-task" end
  return nil
end

-- Whether a step of the script asks for GPUs (srun --gres=gpu:1): a placed job has shards and no GPUs for it. Options
-- end with the first word that is neither one nor may be the value of one.
local MOST_OF_SCRIPT = 65536
local function steps_ask(script)
  for line in script:sub(1, MOST_OF_SCRIPT):gsub("\\\n", " "):gmatch("[^\n]+") do
    local options = not line:match("^%s*#") and line:match("%f[%w_]srun(%s.*)")
    local before = "-"
    for word in (options or ""):gmatch("%S+") do
      local is_option = word:sub(1, 1) == "-"
      if not is_option and before:sub(1, 1) ~= "-" then break end
      if word:match("^%-%-[%w-]*gpu") or word:match("^%-G") or (is_option and word:match("^%-%-gres=.*gpu")) or
         (before == "--gres" and word:match("gpu")) then
        return true
      end
      before = word
    end
  end
  return false
end

-- Tells scripts apart that have no path: 16 digits of what it says. Not for who would forge one: what a user's jobs
-- teach counts for that user.
local function digest(script)
  local low, high = #script % 65536, 7
  for at = 1, math.min(#script, MOST_OF_SCRIPT) do
    local byte = script:byte(at)
    low, high = (low * 257 + byte) % 4294967291, (high * 8191 + byte) % 4294967279
  end
  return string.format("%08x%08x", high, low)
end

-- The note of what it asks for; or nil, and why none can say it.
local function note_of(job_desc)
  local nodes = math.max(number(job_desc.min_nodes, 1), 1)
  -- With --exclusive Slurm gives a job all GPUs of its nodes, asked for or not.
  local model, exclusive, counts = nil, job_desc.shared == 0, {}
  for _, field in ipairs(GPU_FIELDS) do
    for _, tres in ipairs(gpus_in(job_desc[field])) do
      local kind, its_model, count = parts_of(tres)
      if kind == nil then return nil, "unknown-gres" end
      if model and its_model and model ~= its_model then return nil, "several-models" end
      model = model or its_model
      if kind ~= "gpu" then
        -- Shards are hundredths of a GPU.
        if count > 99 then exclusive = true end
        count = math.ceil(count / 100)
      end
      counts[field] = (counts[field] or 0) + count
    end
  end
  local of_node = counts.tres_per_node or counts.tres_per_task -- of one task
  local gpus = counts.tres_per_job or (of_node or 0) * nodes
  if counts.tres_per_job and (gpus % nodes ~= 0 or (of_node and of_node * nodes ~= gpus)) then
    return nil, "uneven-gpus"
  end
  -- A job without GPUs is placed on one node.
  if gpus == 0 and nodes > 1 then return nil, "several-nodes-without-gpus" end
  local ask = string.format("ask=gpus:%d", gpus)
  if model then ask = ask .. ",model:" .. model end
  if exclusive then ask = ask .. ",exclusive" end
  if job_desc.priority == 0 then ask = ask .. ",held" end -- sbatch --hold: `sharewell release` lets it go
  if counts.tres_per_job and not of_node then ask = ask .. ",anywhere" end -- of the whole job, on any nodes
  if job_desc.script and number(job_desc.argc, 0) == 0 then ask = ask .. ",script:" .. digest(job_desc.script) end
  return "sharewell1 " .. ask
end

-- By these srun in a script asks for what its job did.
local WORDS_OF_STEPS = { "SLURM_GPUS", "SLURM_GPUS_PER_NODE", "SLURM_GPUS_PER_TASK", "SLURM_GPUS_PER_SOCKET" }

-- On our nodes a GPU's model is a feature, and its type is a slot. What it did: the feature, or nil.
local function models_as_features(job_desc)
  local model
  for _, field in ipairs(GPU_FIELDS) do
    for _, tres in ipairs(gpus_in(job_desc[field])) do
      local kind, its_model = parts_of(tres)
      if kind == nil or (model and its_model and model ~= its_model) then return end -- Slurm has the answer
      model = model or its_model
    end
  end
  local feature = model and feature_of(model)
  if feature == nil then return end -- there it may be a type as well
  for _, field in ipairs(GPU_FIELDS) do
    put_gpus(job_desc, field, function(tres)
      local kind, its_model, count = parts_of(tres)
      return its_model and string.format("%s%s:%d", tres:match("^gres[:/]") or "", kind, count) or tres
    end)
  end
  for _, name in ipairs(job_desc.script and WORDS_OF_STEPS or {}) do
    local count = (job_desc.environment[name] or ""):match("^[^:,]+:(%d+)$")
    if count then job_desc.environment[name] = count end
  end
  add_feature(job_desc, job_desc.features, feature)
  return feature
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

-- It runs by plain Slurm, as it is.
local function leave_plain(job_desc, why)
  local model = models_as_features(job_desc)
  if model and job_desc.script == nil then
    slurm.log_user("sharewell: the steps of this job would ask for GPUs of type %s, which is a feature here: " ..
                   "use --constraint=%s in its place", model, model)
    return slurm.ERROR
  end
  if why == nil then return slurm.SUCCESS end
  job_desc.admin_comment = "sharewell1 plain=" .. why
  slurm.log_user("sharewell: plain Slurm places this job, with whole GPUs (%s; see docs/slurm.md)", why)
  return slurm.SUCCESS
end

-- salloc works like sbatch: it waits for its nodes until the job is placed.
function slurm_job_submit(job_desc, part_list, submit_uid)
  if has_slots(job_desc) and not SCHEDULERS[submit_uid] then
    slurm.log_user("sharewell: shards of slots (g0, g1, ...) are given by Sharewell: ask for GPUs (--gres=gpu:1)")
    return slurm.ERROR
  end
  if not is_ours(job_desc.partition, part_list) then return slurm.SUCCESS end
  local forged = pretends(job_desc)
  if forged then
    slurm.log_user("sharewell: the job's %s may not contain AdminComment=", forged)
    return slurm.ERROR
  end
  local asks = has_gpus(job_desc) or job_desc.shared == 0
  if not asks and not HOLD_CPU_JOBS then return slurm.SUCCESS end
  if not is_let_in(job_desc) then return leave_plain(job_desc) end
  local why = why_plain(job_desc)
  -- srun by itself: its step would ask for the GPUs that the job had asked for. From 24.11 on salloc has words, too.
  local is_srun = job_desc.script == nil and number(job_desc.argc, 0) > 0 and job_desc.name ~= "interactive"
  local steps_need_gpus = is_srun or (not CLI_FILTER and steps_ask(job_desc.script or ""))
  if not why and asks and steps_need_gpus then why = "srun-asks-for-gpus" end
  local note, problem
  if not why then
    note, problem = note_of(job_desc)
    why = problem
  end
  if not why then
    local never, uneven = fits_nowhere(job_desc, part_list, note)
    if never then
      slurm.log_user("sharewell: %s", never)
      return ESLURM_REQUESTED_NODE_CONFIG_UNAVAILABLE
    end
    why = uneven
  end
  if why then return leave_plain(job_desc, asks and why or nil) end
  for _, field in ipairs(GPU_FIELDS) do
    put_gpus(job_desc, field, function() return nil end)
  end
  if (job_desc.tres_bind or "") ~= "" then job_desc.tres_bind = "" end
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

-- A job that Sharewell never places: in a partition of ours it may have no other GPUs than it was submitted with.
local function modify_stranger(job_desc, job_rec, part_list, uid)
  local partition = job_desc.partition
  if partition == nil or partition == "" then partition = job_rec.partition end
  if has_slots(job_desc) then return refuse(job_rec, uid, "shards") end
  if not is_ours(partition, part_list) then return slurm.SUCCESS end
  local forged = pretends(job_desc)
  if forged then return refuse(job_rec, uid, forged) end
  if has_gpus(job_desc) then
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

-- What the server shows of why a job waits.
local function is_shown(comment) return (comment or ""):match("^[\"']?%[sharewell%] ") ~= nil end

-- The slots of a place, put=1,n2:g0+g1/n3:g0+g1,shards:40,kept:g2, as GRES: "shard:g0:40,shard:g1:40,shard:g2:1".
local function gres_of(put, whole_nodes)
  local gres, plain, shards = {}, 0, put:match(",shards:(%d+)") or "100"
  for slot in (put:match("^%d+,[^,:/]+:([^,/]+)") or ""):gmatch("[^+]+") do
    if slot:match("^gpu%d+$") then
      plain = plain + 1
    else
      gres[#gres + 1] = whole_nodes and "gpu:" .. slot .. ":1" or "shard:" .. slot .. ":" .. shards
    end
  end
  if plain > 0 then return "gpu:" .. plain end
  for slot in (put:match(",kept:([^,]+)") or ""):gmatch("[^+]+") do gres[#gres + 1] = "shard:" .. slot .. ":1" end
  return table.concat(gres, ",")
end

-- Whoever releases a job that has no GPUs of ours lets it go to plain Slurm: it has again what it asked for, or the
-- place that it had last (slurmctld 22.05 dies of a start without shards that a job once had). The server releases
-- none that it has not placed.
local function give_back(job_desc, job_rec, note)
  local ask, put = note:match(" ask=(%S+)"), note:match(" put=([^%s\"']+)")
  local gpus = tonumber((ask or ""):match("^gpus:(%d+)"))
  if gpus == nil or gpus == 0 or has_gpus(job_rec) or has_gpus(job_desc) then return end
  local model = ask:match(",model:([%w_.-]+)")
  local nodes = math.max(number(job_rec.min_nodes, 1), 1)
  if put then
    job_desc.gres = gres_of(put, ask:find(",exclusive", 1, true))
  else
    local feature = model and feature_of(model)
    local type = model and not feature and model .. ":" or ""
    job_desc.gres = "gpu:" .. type .. math.ceil(gpus / nodes)
    if ask:find(",anywhere", 1, true) then
      -- Slurm's own word for a GRES: "gres:gpu" (22.05), "gres/gpu" (24.11).
      job_desc.tres_per_job = (job_desc.tres_per_node:match("^gres[:/]") or "") .. "gpu:" .. type .. gpus
      job_desc.tres_per_node = ""
    end
    if feature then add_feature(job_desc, job_rec.features, feature) end
  end
  job_desc.admin_comment = note:match("^[\"']?(.-)[\"']?%s*$") .. " plain=released"
  if is_shown(job_rec.comment) then job_desc.comment = "[sharewell] plain Slurm starts it" end
  slurm.log_info("sharewell: job %d was released without a place of ours: plain Slurm starts it", job_rec.job_id)
end

local function is_lifted(priority) return priority ~= nil and priority ~= NO_VAL and priority ~= 0 end

function slurm_job_modify(job_desc, job_rec, part_list, modify_uid)
  local note = job_rec.admin_comment
  local is_noted = note ~= nil and note:match("^[\"']?sharewell1 ask=") ~= nil and not note:find(" plain=", 1, true)
  if SCHEDULERS[modify_uid] then
    -- Shown, or with a place taken back; its user may have been quicker.
    local is_ours = is_shown(job_desc.comment) or (job_desc.comment == "" and (job_desc.req_nodes or "") ~= "")
    if is_ours and (job_rec.comment or "") ~= "" and not is_shown(job_rec.comment) then
      job_desc.comment = job_rec.comment
    elseif is_shown(job_desc.comment) then
      job_desc.comment = job_desc.comment:gsub("^[\"'](.*)[\"']$", "%1") -- scontrol leaves them there
    end
    if is_noted and job_rec.priority == 0 and is_lifted(job_desc.priority) then give_back(job_desc, job_rec, note) end
    return slurm.SUCCESS
  end
  if not is_noted then
    return modify_stranger(job_desc, job_rec, part_list, modify_uid)
  end
  local forged = pretends(job_desc)
  if forged then return refuse(job_rec, modify_uid, forged) end
  if is_lifted(job_desc.priority) then return refuse(job_rec, modify_uid, "the hold") end
  -- With priority/basic a new Nice lifts the hold too (seen in 22.05: priority 0 became 2).
  if job_desc.nice ~= nil and job_desc.nice ~= NO_VAL then return refuse(job_rec, modify_uid, "nice") end
  if job_desc.shared == 0 then return refuse(job_rec, modify_uid, "whether it has whole nodes") end
  for _, field in ipairs({ "tres_per_job", "tres_per_node", "tres_per_task", "tres_per_socket", "cpus_per_tres",
                           "mem_per_tres", "req_nodes", "admin_comment", "partition" }) do
    if job_desc[field] ~= nil and job_desc[field] ~= "" and job_desc[field] ~= job_rec[field] then
      return refuse(job_rec, modify_uid, field)
    end
  end
  return slurm.SUCCESS
end

return slurm.SUCCESS
