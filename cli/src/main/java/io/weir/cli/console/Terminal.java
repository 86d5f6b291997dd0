// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.console;

import java.io.PrintWriter;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/**
 * A picocli mixin without options. The mixin supplies the context and the output of a command, and
 * refuses wrong options. The writers flush after each line. Not thread-safe.
 */
@Command // picocli refuses a mixin without annotations
public final class Terminal {
  @Spec(Spec.Target.MIXEE)
  @SuppressWarnings("NullAway.Init") // set by picocli before a command runs
  private CommandSpec command;

  /** Creates an instance; picocli then connects the instance with a command. */
  public Terminal() {}

  /** Returns the context, which the outermost command implements. */
  public CommandContext weir() {
    return (CommandContext) command.root().userObject();
  }

  /** Returns the writer of the results. */
  public PrintWriter out() {
    return command.commandLine().getOut();
  }

  /** Returns the writer of the messages. */
  public PrintWriter err() {
    return command.commandLine().getErr();
  }

  /** Prints a text unchanged; the text may lack a line feed at its end. */
  public void print(String text) {
    out().print(text);
    out().flush();
  }

  /** Prints a message to standard error, as one line that begins with {@code weir:}. */
  public void warn(String message) {
    err().println("weir: " + message);
  }

  /**
   * Requires a condition on the options.
   *
   * @throws ParameterException if the condition does not hold
   */
  public void require(boolean holds, String otherwise) {
    if (!holds) {
      throw wrong(otherwise);
    }
  }

  /** Returns the exception for a wrong option. */
  public ParameterException wrong(String message) {
    return new ParameterException(command.commandLine(), message);
  }
}
