// SPDX-License-Identifier: Apache-2.0
package io.weir.servers;

import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.channels.OverlappingFileLockException;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFileAttributeView;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.EnumSet;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A data folder with a lock, so that only one process at a time uses it. The caller opens the
 * folder before it starts a server, because two brokers in one folder would corrupt the metadata
 * log. The operating system releases the lock when the process ends, even after a crash.
 */
public final class DataFolder implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(DataFolder.class);
  private static final Set<PosixFilePermission> OWNER_ONLY =
      PosixFilePermissions.fromString("rwx------");

  private final Path path;
  private final FileChannel channel;
  private final FileLock lock;

  private DataFolder(Path path, FileChannel channel, FileLock lock) {
    this.path = path;
    this.channel = channel;
    this.lock = lock;
  }

  /**
   * Creates the folder if it is missing, denies access to other users, and locks it.
   *
   * @throws ServerStartException if another process holds the lock or the folder cannot be written
   */
  public static DataFolder open(Path path) throws ServerStartException {
    Path absolute = path.toAbsolutePath().normalize();
    Path file = absolute.resolve("lock");
    try {
      createPrivate(absolute);
      FileChannel channel =
          FileChannel.open(file, StandardOpenOption.CREATE, StandardOpenOption.WRITE);
      FileLock lock = tryLock(channel);
      if (lock == null) {
        channel.close();
        throw new ServerStartException(
            "data folder "
                + absolute
                + " is in use by another process; stop it, or set WEIR_DATA to another folder");
      }
      return new DataFolder(absolute, channel, lock);
    } catch (ServerStartException inUse) {
      throw inUse;
    } catch (IOException cannotWrite) {
      throw new ServerStartException(
          "data folder "
              + absolute
              + " cannot be used ("
              + cannotWrite
              + "); set WEIR_DATA to a folder that can be written",
          cannotWrite);
    }
  }

  /**
   * Creates the folder if it is missing, and removes the permissions of group and others. Then
   * other users cannot read any file in the folder, whatever the file's own mode. If the folder
   * belongs to another user, its mode stays, because only the owner can change the mode.
   */
  private static void createPrivate(Path folder) throws IOException {
    Files.createDirectories(folder);
    PosixFileAttributeView view = Files.getFileAttributeView(folder, PosixFileAttributeView.class);
    if (view == null) {
      return; // a file system without POSIX modes
    }
    Set<PosixFilePermission> mode = view.readAttributes().permissions();
    if (OWNER_ONLY.containsAll(mode)) {
      return;
    }
    Set<PosixFilePermission> kept = EnumSet.copyOf(OWNER_ONLY);
    kept.retainAll(mode);
    try {
      view.setPermissions(kept);
    } catch (FileSystemException ofAnotherUser) {
      LOG.warn(
          "data_folder_open_to_others folder={} mode={} detail=\"{}\"",
          folder,
          PosixFilePermissions.toString(mode),
          ofAnotherUser.getMessage());
    }
  }

  private static @Nullable FileLock tryLock(FileChannel channel) throws IOException {
    try {
      return channel.tryLock();
    } catch (OverlappingFileLockException heldByThisProcess) {
      return null;
    }
  }

  /** Returns the absolute path of the folder. */
  public Path path() {
    return path;
  }

  @Override
  public void close() throws IOException {
    lock.release();
    channel.close();
  }
}
