// helm_render CHART: what `helm template` would print of a chart, as far as ours goes: Debian has no Helm, but the library of functions that Helm gives to
// templates. Reads {"Values": ..., "Chart": ..., "Release": ...} from its input. helm_test.py runs it.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"text/template"

	"github.com/Masterminds/sprig"
)

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func main() {
	var data map[string]interface{}
	check(json.NewDecoder(os.Stdin).Decode(&data))
	all := template.New("chart").Option("missingkey=error")
	functions := sprig.TxtFuncMap()
	functions["include"] = func(name string, data interface{}) (string, error) {
		var made bytes.Buffer
		err := all.ExecuteTemplate(&made, name, data)
		return made.String(), err
	}
	files, err := filepath.Glob(os.Args[1] + "/templates/*")
	check(err)
	_, err = all.Funcs(functions).ParseFiles(files...)
	check(err)
	for _, file := range files {
		switch filepath.Ext(file) {
		case ".yaml":
			fmt.Println("---")
			check(all.ExecuteTemplate(os.Stdout, filepath.Base(file), data))
		case ".txt": // for people
			check(all.ExecuteTemplate(io.Discard, filepath.Base(file), data))
		}
	}
}
