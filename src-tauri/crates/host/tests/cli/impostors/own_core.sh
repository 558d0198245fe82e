# Waits until the process that its server's keeper was has ended, starts a core and decides there:
# own_core.sh KEEPER FOLDER PROGRAM. What it is told is in the folder: `serve`, and `decided` when it is whole.
keeper=$1 folder=$2 program=$3
# The core that it starts runs the server again.
mkdir "$folder/begun" 2> /dev/null || exit
while kill -0 "$keeper" 2> /dev/null; do sleep 0.1; done
"$program" serve --listen 127.0.0.1:0 < /dev/null > "$folder/serve" 2>&1 &
while ! "$program" doctor 2>&1 | grep -q 'answers, version'; do sleep 0.1; done
"$program" agents add evil > "$folder/half" 2>&1
echo "code $?" >> "$folder/half"
echo "$!" > "$folder/core"
mv "$folder/half" "$folder/decided"
