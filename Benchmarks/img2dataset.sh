#!/usr/bin/env bash
# Download and 256-pixel thumbnails against img2dataset, on the same URLs, start-up included; then the thumbnails of
# both compared by SSIM.
#   img2dataset.sh LARDER VENV IMAGES [ROWS [OPTION ...]]
# VENV has img2dataset; IMAGES is a folder of 0.jpg … 199.jpg; the options are for `larder prefetch`, --workers 2 if none.
set -euo pipefail
larder=$(realpath "$1") venv=$(realpath "$2") images=$(realpath "$3") rows=${4:-5000}
shift $(($# < 4 ? $# : 4))
[ $# -gt 0 ] || set -- --workers 2
work=$(mktemp -d)
chmod 755 "$work"
port=$((20000 + $$ % 20000))
trap 'kill ${nginx:-} 2>/dev/null || true; rm -rf "$work"' EXIT
cat >"$work/nginx.conf" <<CONF
daemon off; worker_processes 1; pid $work/pid; error_log $work/error.log; events { worker_connections 4096; }
http { access_log off; sendfile on; keepalive_requests 100000; types { image/jpeg jpg; }
    server { listen 127.0.0.1:$port; root $images; } }
CONF
# In this session, so that the scheduler shares the processors evenly between the origin and its clients.
PATH=$PATH:/usr/sbin nginx -c "$work/nginx.conf" -p "$work" &
nginx=$!
seq 0 $((rows - 1)) | awk -v p="$port" '{ print "http://127.0.0.1:" p "/" $1 % 200 ".jpg?x=" $1 }' >"$work/urls.txt"
awk '{ print "{\"id\":\"" NR - 1 "\",\"url\":\"" $0 "\"}" }' "$work/urls.txt" >"$work/rows.jsonl"
now() { date +%s.%N; }
begin=$(now)
# Neither waits for the device at the end.
"$larder" prefetch --cache "$work/cache" -s '256x256>' "$@" --no-sync -q --export "$work/ours" "$work/rows.jsonl"
middle=$(now)
WANDB_MODE=disabled NO_ALBUMENTATIONS_UPDATE=1 "$venv/bin/img2dataset" --url_list="$work/urls.txt" \
    --output_folder="$work/theirs" --processes_count=2 --thread_count=16 --image_size=256 \
    --resize_mode=keep_ratio_largest --resize_only_if_bigger=True --encode_quality=85 \
    --number_sample_per_shard=250 >"$work/log" 2>&1
end=$(now)
echo "larder $(echo "$middle - $begin" | bc) s, img2dataset $(echo "$end - $middle" | bc) s:" \
    "$(echo "scale=1; ($end - $middle) / ($middle - $begin)" | bc) times as fast"
"$venv/bin/python" - "$work" <<'PYTHON'
import glob, json, sys, cv2, numpy
work = sys.argv[1]
def ssim(a, b):
    blur = lambda x: cv2.GaussianBlur(x, (11, 11), 1.5)
    a, b = a.astype(float), b.astype(float)
    ma, mb = blur(a), blur(b)
    va, vb, vab = blur(a * a) - ma * ma, blur(b * b) - mb * mb, blur(a * b) - ma * mb
    c1, c2 = 6.5025, 58.5225
    return (((2 * ma * mb + c1) * (2 * vab + c2)) / ((ma**2 + mb**2 + c1) * (va + vb + c2))).mean()
values = []
for name in sorted(glob.glob(work + "/theirs/00000/*.json"))[:200]:
    row = json.load(open(name))
    if row["status"] != "success": continue
    ours = cv2.imread(work + "/ours/" + row["url"].split("x=")[1] + ".jpg")
    theirs = cv2.imread(name[:-5] + ".jpg")
    assert ours.shape == theirs.shape, (ours.shape, theirs.shape)
    values.append(ssim(cv2.cvtColor(ours, cv2.COLOR_BGR2GRAY), cv2.cvtColor(theirs, cv2.COLOR_BGR2GRAY)))
print(f"{len(values)} thumbnails of both: SSIM at least {min(values):.4f}, on average {numpy.mean(values):.4f}")
PYTHON
