// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.run;

import io.weir.access.AccessSettings;
import io.weir.access.BearerToken;
import io.weir.cli.console.CommandFailedException;
import io.weir.topics.settings.Settings;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import org.jspecify.annotations.Nullable;

/** The password of the Kafka broker and the Redis server that {@code weir up} starts. */
final class ServersPassword {
  private static final String FILE = "servers.password";

  private ServersPassword() {}

  /**
   * Returns the password. Returns null if the ports require no tokens, because every user of this
   * machine can then use all of Weir. The first call creates the password and writes it to the data
   * folder, which only this user may read.
   */
  static @Nullable String of(Settings settings, Path data) throws IOException {
    if (!AccessSettings.of(settings).hasTokens()) {
      return null;
    }
    Path file = data.resolve(FILE);
    if (Files.exists(file)) {
      String kept = Files.readString(file, StandardCharsets.US_ASCII).strip();
      if (!kept.matches("[A-Za-z0-9_-]{16,}")) {
        throw new CommandFailedException(
            file
                + " must contain a password of at least 16 letters, digits, _ and -; delete the file,"
                + " and Weir creates a new file");
      }
      return kept;
    }
    String made = BearerToken.create();
    Files.writeString(file, made + '\n', StandardCharsets.US_ASCII, StandardOpenOption.CREATE_NEW);
    return made;
  }
}
