// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.policies;

import com.fasterxml.jackson.databind.JsonNode;
import io.weir.cli.console.CommandContext;
import io.weir.cli.console.CommandFailedException;
import io.weir.cli.console.PolicyText;
import io.weir.cli.console.PublishedPolicies;
import io.weir.cli.console.Terminal;
import io.weir.ingest.policy.PolicyFile;
import io.weir.ingest.policy.log.ApiKeyEdits;
import io.weir.ingest.policy.log.AppliedFile;
import io.weir.ingest.policy.log.PolicyEditor;
import io.weir.ingest.policy.log.PolicyEdits;
import io.weir.ingest.policy.log.PolicyEntry;
import io.weir.ingest.policy.log.PolicyKey;
import io.weir.ingest.policy.log.PolicyLogState;
import io.weir.limits.policy.Policy;
import io.weir.limits.policy.PolicyMode;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** The commands that read or change the published policies. */
public final class PublishedPoliciesCommands {
  private PublishedPoliciesCommands() {}

  /** Base class of the commands that read or change the published policies. */
  abstract static class Published implements Callable<Integer> {
    @Mixin final Terminal terminal = new Terminal();

    PrintWriter out() {
      return terminal.out();
    }

    PublishedPolicies published() {
      return new PublishedPolicies(terminal.weir().kafka());
    }
  }

  /** Base class of the commands that read a policy file. */
  abstract static class OnFile extends Published {
    @Parameters(arity = "0..1", paramLabel = "FILE", description = "the policy file (YAML)")
    private @Nullable Path file;

    @Override
    public Integer call() {
      Path read = PoliciesCommand.fileOf(file, terminal);
      PolicyFile.Content.Valid valid = PoliciesCommand.readValid(read, out());
      return valid == null ? 1 : call(read, valid.tree());
    }

    /** Runs the command on a valid file. */
    abstract int call(Path read, JsonNode tree);
  }

  /** Publishes a file. */
  @Command(
      name = "apply",
      mixinStandardHelpOptions = true,
      description = {
        "Publish a policy file. The file replaces all published policies, plans and clients.",
        "Prints the changes.",
        "If the file lacks published policies, plans, clients or settings, the command asks before"
            + " it removes them.",
        "A file that lacks published API keys is refused; 'weir policies export' prints a file with"
            + " all keys."
      })
  static final class Apply extends OnFile {
    @Option(names = "--dry-run", description = "only print the changes, and publish nothing")
    private boolean dryRun;

    @Option(
        names = "--revoke-keys",
        description = "publish the file even if it lacks API keys; these keys are revoked")
    private boolean revokeKeys;

    @Option(
        names = "--yes",
        description =
            "remove the entries that the file lacks, without a question. Without this option"
                + " and without a terminal, the command refuses such a file with exit status 3")
    private boolean yes;

    @Override
    int call(Path read, JsonNode tree) {
      AppliedFile applied = AppliedFile.of(String.valueOf(read.getFileName()), tree);
      if (dryRun) {
        return printOnly(published().read(), tree);
      }
      ConfirmedChange change = new ConfirmedChange(PolicyEdits.apply(applied, revokeKeys), yes);
      PolicyEditor.Outcome outcome = publish(applied, change);
      while (outcome == null) {
        print(change.differences(), "; nothing is published yet");
        if (!terminal.weir().confirms(out(), "publish the file and remove the listed entries?")) {
          return refuse(applied, change);
        }
        change.confirm();
        outcome = publish(applied, change);
      }
      print(change.differences(), "");
      out().printf("version %d is published%n", outcome.after().version());
      printSwitch(outcome.after(), out());
      return 0;
    }

    /** Publishes the file; returns null if the change must be confirmed first. */
    private PolicyEditor.@Nullable Outcome publish(AppliedFile applied, ConfirmedChange change) {
      try {
        return published().change("policies apply " + applied.name(), change);
      } catch (CommandFailedException refused) {
        if (change.isConfirmed()) {
          throw refused;
        }
        return null;
      }
    }

    private int refuse(AppliedFile applied, ConfirmedChange change) {
      terminal
          .err()
          .printf(
              "weir: %s is not published: this would remove %s, which you have not confirmed;"
                  + " add these entries to the file (weir policies export), or apply the file"
                  + " with --yes%n",
              applied.name(), change.removed());
      return CommandContext.NOT_CONFIRMED;
    }

    /** Prints the changes without publishing them; returns the exit status. */
    private int printOnly(PolicyLogState state, JsonNode tree) {
      print(differences(state, tree), "; nothing is published yet");
      List<String> revoked = ApiKeyEdits.revoked(state, PolicyEdits.drafts(state, tree));
      if (revoked.isEmpty() || revokeKeys) {
        return 0;
      }
      out().println("refused without --revoke-keys: the file lacks published API keys:");
      revoked.forEach(key -> out().println("  " + key));
      return 1;
    }

    private void print(List<String> differences, String when) {
      // in one call, because the writer flushes after each line
      StringBuilder text = new StringBuilder();
      differences.forEach(line -> text.append(line).append(System.lineSeparator()));
      out().println(text + PolicyDifferences.summary(differences) + when);
    }
  }

  /**
   * Prints the enforcement switch if it is not {@code enforce}, because a policy file does not show
   * the switch.
   */
  private static void printSwitch(PolicyLogState state, PrintWriter out) {
    if (state.enforcement() != PolicyMode.ENFORCE) {
      out.printf(
          "enforcement is %s: 'weir policies switch enforce' enforces the limits again%n",
          PolicyText.lower(state.enforcement()));
    }
  }

  /** Compares a policy file with the published policies. */
  @Command(
      name = "diff",
      mixinStandardHelpOptions = true,
      description = {
        "Compare a policy file with the published policies: print the changes that 'weir policies"
            + " apply' would make.",
        "Exits with 0 if there is no difference, otherwise with 1."
      })
  static final class Diff extends OnFile {
    @Override
    int call(Path read, JsonNode tree) {
      PolicyLogState state = published().read();
      List<String> differences = differences(state, tree);
      differences.forEach(out()::println);
      out()
          .printf(
              "%s from version %d%n",
              differences.isEmpty()
                  ? read + " does not differ"
                  : PolicyDifferences.summary(differences),
              state.version());
      printSwitch(state, out());
      return differences.isEmpty() ? 0 : 1;
    }
  }

  private static List<String> differences(PolicyLogState state, JsonNode tree) {
    return PolicyDifferences.of(state, PolicyEdits.drafts(state, tree));
  }

  /** Lists the published policies. */
  @Command(
      name = "list",
      mixinStandardHelpOptions = true,
      description =
          "List the published policies: what each does, when it was changed, and by whom.")
  static final class Listing extends Published {
    @Override
    public Integer call() {
      PolicyLogState state = published().read();
      Map<String, Policy> byName = new HashMap<>();
      long now = System.currentTimeMillis();
      state.set(now).policies().forEach(policy -> byName.put(policy.name(), policy));
      for (PolicyEntry entry : state.policyEntries()) {
        Policy policy = byName.get(entry.key().name());
        if (policy != null) {
          out().printf("%-20s %s%n", policy.name(), PolicyText.of(policy));
          out().printf("%-20s for %s%n", "", PolicyText.of(policy.match()));
        } else {
          out().printf("%-20s not in force yet%n", entry.key().name());
        }
        JsonNode content = entry.content();
        if (content != null && PolicyFile.effectiveFromMillis(content) > now) {
          out()
              .printf(
                  "%-20s from %s on: %s%n",
                  "", content.path(PolicyFile.EFFECTIVE_FROM).asText(), content);
        }
        out().printf("%-20s %s%n", "", since(entry));
      }
      out()
          .printf(
              "version %d: %s, %s with their own settings, enforcement %s%n",
              state.version(),
              PolicyText.count(state.policyEntries().size(), "policy", "policies"),
              PolicyText.count(state.clientEntries().size(), "client", "clients"),
              PolicyText.lower(state.enforcement()));
      return 0;
    }
  }

  /** Returns a description of the version and time of an entry. */
  public static String since(PolicyEntry entry) {
    return "since version "
        + entry.version()
        + ", "
        + Instant.ofEpochMilli(entry.changedAtEpochMillis())
        + ", by "
        + entry.changedBy();
  }

  /** Prints the published policies as a policy file. */
  @Command(
      name = "export",
      mixinStandardHelpOptions = true,
      description = "Print the published policies as a policy file for 'weir policies apply'.")
  static final class Export extends Published {
    @Override
    public Integer call() {
      terminal.print(PolicyFile.yaml(published().read().document()));
      return 0;
    }
  }

  /** Prints the changes of policies and clients. */
  @Command(
      name = "history",
      mixinStandardHelpOptions = true,
      description = {
        "Print who changed what and when, the newest change last. The topic keeps every change of the"
            + " last 400 days, and the newest earlier change of each policy."
      })
  static final class History extends Published {
    @Parameters(
        arity = "0..1",
        paramLabel = "NAME",
        description = "print only changes of the policy or client with this name")
    private @Nullable String name;

    @Override
    public Integer call() {
      List<PolicyEntry> changes = new ArrayList<>();
      String refusal = published().readChanges(changes::add);
      changes.sort(Comparator.comparingLong(PolicyEntry::version).thenComparing(PolicyEntry::key));
      for (PolicyEntry change : changes) {
        if (name == null || change.key().name().equals(name)) {
          out()
              .printf(
                  "%6d  %s  %-8s %s  (%s)%n",
                  change.version(),
                  Instant.ofEpochMilli(change.changedAtEpochMillis()),
                  change.isDeleted() ? "deleted" : "set",
                  what(change),
                  change.changedBy());
        }
      }
      if (refusal != null) {
        out().println("not in force: " + refusal);
      }
      return 0;
    }

    private static String what(PolicyEntry change) {
      JsonNode content = change.content();
      return change.key().kind() == PolicyKey.Kind.FILE && content != null
          ? "file " + content.path("name").asText()
          : change.key() + (content == null ? "" : " " + content);
    }
  }

  /** Switches the enforcement of all policies. */
  @Command(
      name = "switch",
      mixinStandardHelpOptions = true,
      description = {
        "Switch all policies at once: enforce (each policy by its own mode), shadow (no policy denies"
            + " a call), off (no policy is evaluated).",
        "Calls are counted in every case."
      })
  static final class Switch extends Published {
    @Parameters(paramLabel = "MODE", description = "enforce, shadow or off")
    private String mode = "";

    @Override
    public Integer call() {
      for (PolicyMode known : PolicyMode.values()) {
        if (known.name().toLowerCase(Locale.ROOT).equals(mode)) {
          PolicyEditor.Outcome outcome =
              published()
                  .change(
                      "policies switch " + mode,
                      PolicyEdits.enforcement(known, PolicyEdits.ANY_VERSION));
          out()
              .printf(
                  "enforcement is %s%s; version %d is published%n",
                  mode, outcome.isChange() ? "" : " already", outcome.after().version());
          return 0;
        }
      }
      throw terminal.wrong("MODE must be one of enforce, shadow, off, but is '" + mode + "'");
    }
  }
}
