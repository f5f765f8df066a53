package lab

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

func (c *Cluster) etcdData() string { return filepath.Join(c.home, "etcd") }

// BackUpEtcd copies etcd's data to a folder that does not exist yet. etcd must not be running.
func (c *Cluster) BackUpEtcd(ctx context.Context, backup string) error {
	return copyFolder(ctx, c.etcdData(), backup)
}

// RestoreEtcd restores etcd's data from a backup. etcd must not be running.
func (c *Cluster) RestoreEtcd(ctx context.Context, backup string) error {
	if err := os.RemoveAll(c.etcdData()); err != nil {
		return err
	}
	return copyFolder(ctx, backup, c.etcdData())
}

// copyFolder copies a folder. It preserves file modes, because etcd checks them.
func copyFolder(ctx context.Context, from, to string) error {
	if out, err := exec.CommandContext(ctx, "cp", "-a", from, to).CombinedOutput(); err != nil {
		return fmt.Errorf("cp %s %s: %w\n%s", from, to, err, out)
	}
	return nil
}
