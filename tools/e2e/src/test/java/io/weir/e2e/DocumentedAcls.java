// SPDX-License-Identifier: Apache-2.0
package io.weir.e2e;

import java.io.IOException;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.apache.kafka.common.acl.AccessControlEntry;
import org.apache.kafka.common.acl.AclBinding;
import org.apache.kafka.common.acl.AclOperation;
import org.apache.kafka.common.acl.AclPermissionType;
import org.apache.kafka.common.resource.PatternType;
import org.apache.kafka.common.resource.ResourcePattern;
import org.apache.kafka.common.resource.ResourceType;

/** The access control lists that the documentation tells operators to grant. */
final class DocumentedAcls {
  private static final String COMMAND = "kafka-acls.sh --bootstrap-server KAFKA --add ";

  private DocumentedAcls() {}

  /** Returns what is granted by the commands in {@code install.md}. */
  static List<AclBinding> read() throws IOException {
    List<AclBinding> acls = new ArrayList<>();
    String page = Files.readString(Markdown.OPERATE.resolve("install.md"));
    for (String line : page.replaceAll(" \\\\\n +", " ").lines().toList()) {
      if (line.startsWith(COMMAND)) {
        add(line.substring(COMMAND.length()), acls);
      }
    }
    return acls;
  }

  private static void add(String options, List<AclBinding> acls) {
    List<AclOperation> operations = new ArrayList<>();
    String principal = "";
    Map<String, ResourceType> resources = new LinkedHashMap<>();
    PatternType pattern = PatternType.LITERAL;
    String[] words = options.split(" ", -1);
    for (int i = 0; i < words.length; i += 2) {
      String value = words[i + 1];
      switch (words[i]) {
        case "--allow-principal" -> principal = value;
        case "--operation" -> operations.add(operation(value));
        case "--resource-pattern-type" ->
            pattern = PatternType.fromString(value.toUpperCase(Locale.ROOT));
        case "--topic", "--group", "--transactional-id" -> {
          resources.put(value, resourceType(words[i].substring(2)));
        }
        default -> throw new IllegalArgumentException(words[i] + " in " + options);
      }
    }
    for (Map.Entry<String, ResourceType> resource : resources.entrySet()) {
      for (AclOperation operation : operations) {
        acls.add(
            new AclBinding(
                new ResourcePattern(resource.getValue(), resource.getKey(), pattern),
                new AccessControlEntry(principal, "*", operation, AclPermissionType.ALLOW)));
      }
    }
  }

  private static ResourceType resourceType(String option) {
    return ResourceType.fromString(option.replace('-', '_').toUpperCase(Locale.ROOT));
  }

  private static AclOperation operation(String word) {
    for (AclOperation operation : AclOperation.values()) {
      if (operation.name().replace("_", "").equalsIgnoreCase(word)) {
        return operation;
      }
    }
    throw new IllegalArgumentException(word);
  }
}
