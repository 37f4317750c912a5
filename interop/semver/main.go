// Answers what Masterminds' semver says: for each line "CONSTRAINT<TAB>VERSION VERSION …" on
// standard input one line with a letter per version: 1 it satisfies the constraint, 0 it does not,
// v it is not a version; or just "invalid" for what is not a constraint.
package main

import (
	"bufio"
	"fmt"
	"os"
	"strings"

	"github.com/Masterminds/semver/v3"
)

func main() {
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<20)
	answers := bufio.NewWriter(os.Stdout)
	defer answers.Flush()
	for lines.Scan() {
		text, versions, _ := strings.Cut(lines.Text(), "\t")
		constraint, err := semver.NewConstraint(text)
		if err != nil {
			fmt.Fprintln(answers, "invalid")
			continue
		}
		for _, word := range strings.Fields(versions) {
			version, err := semver.NewVersion(word)
			switch {
			case err != nil:
				fmt.Fprint(answers, "v")
			case constraint.Check(version):
				fmt.Fprint(answers, "1")
			default:
				fmt.Fprint(answers, "0")
			}
		}
		fmt.Fprintln(answers)
	}
}
