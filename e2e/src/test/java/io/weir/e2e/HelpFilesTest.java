// SPDX-License-Identifier: Apache-2.0
package io.weir.e2e;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.weir.testing.HelpFiles;
import java.io.IOException;
import java.util.List;
import java.util.Objects;
import org.junit.jupiter.api.Test;
import picocli.CommandLine;

final class HelpFilesTest {
  @Test
  void helpFiles_sayWhatTheCommandsSay() throws IOException {
    CommandLine weir = new CommandLine(new E2eCommand());

    assertEquals(
        List.of(),
        HelpFiles.differences(Objects.requireNonNull(weir.getSubcommands().get("chaos"))));
  }
}
