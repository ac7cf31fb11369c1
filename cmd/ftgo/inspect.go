package main

import (
	"os"

	"github.com/spf13/cobra"

	"github.com/ftgo/ftgo/rewriter"
)

// funcsCommand makes "ftgo funcs".
func funcsCommand() *cobra.Command {
	flags := rewriter.Flags{Inline: "keep"}
	deps, pgo := false, ""
	cmd := &cobra.Command{
		Use:   "funcs [-inline keep|hook|N] [-deps] [packages]",
		Short: "list every function: how it is hooked, or why it is not",
		Long: `ftgo funcs lists the functions of packages, a line each: name, position, and how it is hooked (by
re-entry, which may be inlined, at its returns, or in place), that the compiler inlines it, or why it
is left alone.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				args = []string{"."}
			}
			return rewriter.PrintFuncs(os.Stdout, args, deps, pgo, flags)
		},
	}
	buildFlags(cmd, &flags)
	profileFlag(cmd, &pgo)
	cmd.Flags().BoolVar(&deps, "deps", false, "the packages that they import as well, without the standard library")
	return cmd
}

// showCommand makes "ftgo show".
func showCommand() *cobra.Command {
	flags := rewriter.Flags{Inline: "keep"}
	pgo := ""
	cmd := &cobra.Command{
		Use:   "show [-inline keep|hook|N] FILE.go|PACKAGE.FUNC",
		Short: "print source as the compiler gets it, with the hooks in it",
		Long: `ftgo show prints a file, or a function and its wrapper, as the compiler gets it, formatted, and without
the comments that keep positions.

	ftgo show ./examples/hello/main.go
	ftgo show example.com/p.(*T).Method`,
		Args: func(cmd *cobra.Command, args []string) error {
			return wantArgs(cmd, args, 1, "one file or function, such as main.go or example.com/p.(*T).Method")
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return rewriter.Show(os.Stdout, args[0], pgo, flags)
		},
	}
	buildFlags(cmd, &flags)
	profileFlag(cmd, &pgo)
	return cmd
}

func profileFlag(cmd *cobra.Command, pgo *string) {
	cmd.Flags().StringVar(pgo, "pgo", "auto", "`FILE` of the profile that the build gets, off, or auto: default.pgo of the main package")
}
