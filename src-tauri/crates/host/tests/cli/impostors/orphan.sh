# Runs a command once the process that started this has ended: orphan.sh PARENT FILE COMMAND…
# What it says and its code are in the file, which appears when it is whole.
parent=$1 file=$2
shift 2
while [ "$(cut -d ' ' -f 4 "/proc/$$/stat")" = "$parent" ]; do :; done
"$@" > "$file.$$" 2>&1
echo "code $?" >> "$file.$$"
mv "$file.$$" "$file"
