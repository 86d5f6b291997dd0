// SPDX-License-Identifier: Apache-2.0
package io.weir.cli;

import com.fasterxml.jackson.databind.JsonNode;
import io.weir.ingest.policy.PolicyFile;
import io.weir.ingest.policy.log.ApiKeyEdits;
import io.weir.ingest.policy.log.AppliedFile;
import io.weir.ingest.policy.log.PolicyEditor;
import io.weir.ingest.policy.log.PolicyEdits;
import io.weir.ingest.policy.log.PolicyEntry;
import io.weir.ingest.policy.log.PolicyKey;
import io.weir.ingest.policy.log.PolicyState;
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
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.ParentCommand;
import picocli.CommandLine.Spec;

/** The commands on policies that are published. */
final class PublishedPoliciesCommands {
  private PublishedPoliciesCommands() {}

  /** What these commands have in common. */
  abstract static class Published implements Callable<Integer> {
    @ParentCommand
    @SuppressWarnings("NullAway.Init") // set by picocli before a command runs
    PoliciesCommand policies;

    @Spec
    @SuppressWarnings("NullAway.Init")
    CommandSpec spec;

    PrintWriter out() {
      return spec.commandLine().getOut();
    }

    PublishedPolicies published() {
      return new PublishedPolicies(policies.weir().kafka());
    }
  }

  /** What the commands on a file have in common. */
  abstract static class OnFile extends Published {
    @Parameters(arity = "0..1", paramLabel = "FILE", description = "the policy file (YAML)")
    private @Nullable Path file;

    @Override
    public Integer call() {
      Path read = policies.fileOf(file);
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
        "Publish a policy file: policies, plans and clients are those of the file then, and no others.",
        "All of it takes effect at once; prints what is changed.",
        "If the file lacks published policies, plans, clients or settings, asks before it removes them.",
        "A file that lacks published API keys is refused: 'weir policies export' has them."
      })
  static final class Apply extends OnFile {
    @Option(names = "--dry-run", description = "only print what would be changed")
    private boolean dryRun;

    @Option(
        names = "--revoke-keys",
        description = "publish the file also if it lacks API keys, which are revoked then")
    private boolean revokeKeys;

    @Option(
        names = "--yes",
        description =
            "remove what the file lacks without asking; without it and without a terminal such a"
                + " file is refused, with the exit status 3")
    private boolean yes;

    @Override
    int call(Path read, JsonNode tree) {
      AppliedFile applied = AppliedFile.of(String.valueOf(read.getFileName()), tree);
      if (dryRun) {
        return tellOnly(published().read(), tree);
      }
      ConfirmedChange change = new ConfirmedChange(PolicyEdits.apply(applied, revokeKeys), yes);
      PolicyEditor.Outcome outcome = publish(applied, change);
      while (outcome == null) {
        print(change.differences(), "; nothing is published yet");
        if (!policies.weir().confirms(out(), "publish this, and remove what the file lacks?")) {
          return refuse(applied, change);
        }
        change.confirm();
        outcome = publish(applied, change);
      }
      print(change.differences(), "");
      out().printf("version %d is published%n", outcome.after().version());
      tellSwitch(outcome.after(), out());
      out().flush();
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
      PrintWriter err = spec.commandLine().getErr();
      err.printf(
          "weir: %s is not published: it would remove %s, which nobody has confirmed;"
              + " add them to the file (weir policies export), or apply it with --yes%n",
          applied.name(), change.removed());
      err.flush();
      return WeirCommand.NOT_CONFIRMED;
    }

    /** Prints what would be changed; returns the exit status. */
    private int tellOnly(PolicyState state, JsonNode tree) {
      print(differences(state, tree), "; nothing is published yet");
      List<String> revoked = ApiKeyEdits.revoked(state, PolicyEdits.drafts(state, tree));
      if (revoked.isEmpty() || revokeKeys) {
        return 0;
      }
      out().println("refused without --revoke-keys: the file lacks published API keys:");
      revoked.forEach(key -> out().println("  " + key));
      out().flush();
      return 1;
    }

    private void print(List<String> differences, String when) {
      // at once: the writer of commands flushes after each call
      StringBuilder text = new StringBuilder();
      differences.forEach(line -> text.append(line).append(System.lineSeparator()));
      out().println(text + PolicyDifferences.summary(differences) + when);
      out().flush();
    }
  }

  /** Tells that limits are switched, if they are: nothing of a file shows that. */
  private static void tellSwitch(PolicyState state, PrintWriter out) {
    if (state.enforcement() != PolicyMode.ENFORCE) {
      out.printf(
          "enforcement is %s: weir policies switch enforce puts the limits back%n",
          PolicyText.lower(state.enforcement()));
    }
  }

  /** Compares a file with what is published. */
  @Command(
      name = "diff",
      mixinStandardHelpOptions = true,
      description = {
        "Compare a policy file with what is published: print what applying it would change.",
        "Exit 0 if nothing, 1 if something."
      })
  static final class Diff extends OnFile {
    @Override
    int call(Path read, JsonNode tree) {
      PolicyState state = published().read();
      List<String> differences = differences(state, tree);
      differences.forEach(out()::println);
      out()
          .printf(
              "%s from version %d%n",
              differences.isEmpty()
                  ? read + " does not differ"
                  : PolicyDifferences.summary(differences),
              state.version());
      tellSwitch(state, out());
      out().flush();
      return differences.isEmpty() ? 0 : 1;
    }
  }

  private static List<String> differences(PolicyState state, JsonNode tree) {
    return PolicyDifferences.of(state, PolicyEdits.drafts(state, tree));
  }

  /** Lists what is published. */
  @Command(
      name = "list",
      mixinStandardHelpOptions = true,
      description = "List the published policies: what each does, since when, and by whom.")
  static final class Listing extends Published {
    @Override
    public Integer call() {
      PolicyState state = published().read();
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
              "version %d: %s, %s with settings of their own, enforcement %s%n",
              state.version(),
              PolicyText.count(state.policyEntries().size(), "policy", "policies"),
              PolicyText.count(state.clientEntries().size(), "client", "clients"),
              PolicyText.lower(state.enforcement()));
      out().flush();
      return 0;
    }
  }

  static String since(PolicyEntry entry) {
    return "since version "
        + entry.version()
        + ", "
        + Instant.ofEpochMilli(entry.changedAtEpochMillis())
        + ", by "
        + entry.changedBy();
  }

  /** Prints what is published as a file. */
  @Command(
      name = "export",
      mixinStandardHelpOptions = true,
      description = "Print what is published as a policy file, which can be applied again.")
  static final class Export extends Published {
    @Override
    public Integer call() {
      out().print(PolicyFile.yaml(published().read().document()));
      out().flush();
      return 0;
    }
  }

  /** Prints the changes. */
  @Command(
      name = "history",
      mixinStandardHelpOptions = true,
      description = {
        "Print who changed what and when, the newest last: every change of the last 400 days, and of"
            + " older ones the last of each policy."
      })
  static final class History extends Published {
    @Parameters(
        arity = "0..1",
        paramLabel = "NAME",
        description = "only changes of the policy or client of this name")
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
      out().flush();
      return 0;
    }

    private static String what(PolicyEntry change) {
      JsonNode content = change.content();
      return change.key().kind() == PolicyKey.Kind.FILE && content != null
          ? "file " + content.path("name").asText()
          : change.key() + (content == null ? "" : " " + content);
    }
  }

  /** Sets the switch of all policies. */
  @Command(
      name = "switch",
      mixinStandardHelpOptions = true,
      description = {
        "Switch all policies at once: enforce (each by its own mode), shadow (none refuses a call),"
            + " off (none is asked).",
        "Calls are counted all the same."
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
          out().flush();
          return 0;
        }
      }
      throw new picocli.CommandLine.ParameterException(
          spec.commandLine(), "MODE must be one of enforce, shadow, off, is '" + mode + "'");
    }
  }
}
