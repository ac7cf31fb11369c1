//go:build unix

package tracefile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// maxLinks is how many symbolic links a path may lead through (MAXSYMLINKS).
const maxLinks = 40

// Create creates the file of a trace for reading and writing, with mode 0600, or truncates the one
// that is there. In a sticky directory where every user may write, such as /tmp, it follows no
// symbolic link of another user, and takes no file of another user: a program with the rights of
// root would otherwise write where that user wants. These are the rules of Linux's sysctls
// fs.protected_symlinks and fs.protected_regular, which may be off, and other systems do not have.
//
// Each link is resolved here, and the last name opened with O_NOFOLLOW. What another user can still
// exchange between check and open lies in that user's own directory, where the rules allow a link.
func Create(path string) (*os.File, error) {
	if path == "" || strings.HasSuffix(path, "/") {
		return nil, &fs.PathError{Op: "create", Path: path, Err: errors.New("this names no file")}
	}
	dir, name := ".", ""
	for rest, links := path, 0; rest != ""; {
		if strings.HasPrefix(rest, "/") {
			dir = "/"
		}
		name, rest, _ = strings.Cut(strings.TrimLeft(rest, "/"), "/")
		rest = strings.TrimLeft(rest, "/")
		last := rest == ""
		switch name {
		case "", ".", "..":
			if last {
				return nil, &fs.PathError{Op: "create", Path: path, Err: syscall.EISDIR}
			}
			dir = filepath.Join(dir, name) // dir holds no links
			continue
		}
		at := filepath.Join(dir, name)
		info, err := os.Lstat(at)
		switch {
		case err != nil && last:
			continue // open says what is wrong, if anything is
		case err != nil:
			return nil, fmt.Errorf("%s cannot be created: %w", path, err)
		case info.Mode()&fs.ModeSymlink == 0:
			if !last {
				dir = at
			}
			continue
		}
		if links++; links > maxLinks {
			return nil, &fs.PathError{Op: "create", Path: path, Err: syscall.ELOOP}
		}
		if last && inProc(info) {
			return os.OpenFile(at, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
		}
		if owner, others := othersIn(dir, info); others {
			return nil, fmt.Errorf("%s is not written through the symbolic link %s: user %d put it into "+
				"a directory where every user may write; remove the link, or choose another file", path, at, owner)
		}
		target, err := os.Readlink(at)
		if err != nil {
			return nil, err
		}
		if !last {
			target += "/" + rest
		}
		rest = target
	}
	at := filepath.Join(dir, name)
	f, err := os.OpenFile(at, os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW, 0o600)
	if errors.Is(err, syscall.ELOOP) {
		return nil, fmt.Errorf("%s is not written: %s became a symbolic link meanwhile", path, at)
	}
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil {
		if owner, others := othersIn(dir, info); others {
			err = fmt.Errorf("%s is not written: %s belongs to user %d and lies in a directory where "+
				"every user may write; remove it, or choose another file", path, at, owner)
		} else if info.Mode().IsRegular() {
			err = f.Truncate(0)
		}
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// othersIn reports whether a file of a directory belongs to another user, and to which one, where
// that counts: the directory is sticky, every user may write there, and its owner is not the
// file's.
func othersIn(dir string, file fs.FileInfo) (owner uint32, others bool) {
	f, ok := file.Sys().(*syscall.Stat_t)
	if !ok || f.Uid == uint32(os.Geteuid()) {
		return 0, false
	}
	info, err := os.Stat(dir)
	if err != nil {
		return f.Uid, true
	}
	if info.Mode()&fs.ModeSticky == 0 || info.Mode().Perm()&0o002 == 0 {
		return 0, false
	}
	d, ok := info.Sys().(*syscall.Stat_t)
	return f.Uid, ok && d.Uid != f.Uid
}

// inProc reports whether a link is the kernel's own, in /proc: what /dev/stdout leads to. Its text
// need not be a path, and no user can put one there.
func inProc(link fs.FileInfo) bool {
	device := func(info fs.FileInfo) any {
		if s, ok := info.Sys().(*syscall.Stat_t); ok {
			return s.Dev
		}
		return nil
	}
	proc, err := os.Stat("/proc")
	if err != nil {
		return false
	}
	root, err := os.Stat("/")
	return err == nil && device(proc) != device(root) && device(link) == device(proc)
}
