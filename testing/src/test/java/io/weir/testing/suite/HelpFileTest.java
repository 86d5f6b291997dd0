// SPDX-License-Identifier: Apache-2.0
package io.weir.testing.suite;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.weir.testing.HelpFiles;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import picocli.CommandLine;

final class HelpFileTest {
  @Test
  void helpFile_saysWhatTheCommandSays() throws IOException {
    assertEquals(
        List.of(), HelpFiles.differences(new CommandLine(new SuiteCommand(Path.of("."), false))));
  }
}
