// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.policy;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.MissingNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.StringReader;
import java.math.BigInteger;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import org.yaml.snakeyaml.LoaderOptions;
import org.yaml.snakeyaml.error.Mark;
import org.yaml.snakeyaml.error.MarkedYAMLException;
import org.yaml.snakeyaml.error.YAMLException;
import org.yaml.snakeyaml.events.AliasEvent;
import org.yaml.snakeyaml.events.CollectionStartEvent;
import org.yaml.snakeyaml.events.Event;
import org.yaml.snakeyaml.events.MappingStartEvent;
import org.yaml.snakeyaml.events.ScalarEvent;
import org.yaml.snakeyaml.nodes.NodeId;
import org.yaml.snakeyaml.nodes.Tag;
import org.yaml.snakeyaml.parser.Parser;
import org.yaml.snakeyaml.parser.ParserImpl;
import org.yaml.snakeyaml.reader.StreamReader;
import org.yaml.snakeyaml.resolver.Resolver;

/**
 * Parses YAML to a JSON tree, and resolves anchors, aliases and merge keys ({@code <<}). The core
 * schema of YAML 1.2 determines the types of plain scalars. For example, {@code off}, {@code
 * 2026-01-17} and {@code 1:30} are strings. Keys are literal texts, so the keys {@code 1.10} and
 * {@code 1.1} differ. Not thread-safe.
 */
public final class YamlTree {
  /**
   * Maximum size of a file in characters. A file of 1,000,000 clients, each with a limit, has half
   * of this size.
   */
  static final int MAX_CHARS = 256 << 20;

  /**
   * Maximum number of aliases of mappings and lists. This number allows a few aliases per policy.
   */
  private static final int MAX_ALIASES = 10_000;

  /** Maximum number of values that a file contains. */
  static final long MAX_VALUES = 20_000_000;

  /**
   * Maximum number of values that aliases and merge keys repeat, counted at each use. Aliases of
   * aliases can double the number of values with each line ("billion laughs").
   */
  private static final long MAX_REPEATED = 5_000_000;

  /** Maximum nesting depth, including the nesting of aliases. */
  static final int MAX_DEPTH = 50;

  /** Every number of at most this length, with its sign, fits into a {@code long}. */
  static final int LONGEST_LONG = 18;

  /**
   * Maximum length of a number in characters. No policy needs a longer number, and a longer number
   * is slow to parse.
   */
  static final int LONGEST_NUMBER = 100;

  private static final String MERGE_KEY = "<<";

  private static final JsonNodeFactory NODES = JsonNodeFactory.instance;

  private final Parser parser;
  private final CoreSchema schema = new CoreSchema();

  /**
   * The nodes by anchor. A mapping or list without a tree is incomplete, because it contains the
   * current node.
   */
  private final Map<String, Part> anchors = new HashMap<>();

  private final SharedMappings shared = new SharedMappings();

  /** Number of entries of mappings and lists so far. */
  private long written;

  /** Number of values that aliases and merge keys have repeated so far. */
  private long repeated;

  private int aliases;
  private int nesting;

  /**
   * Whether plain scalars have the types of the core schema; if false, all scalars except {@code
   * null} are strings.
   */
  private final boolean isTyped;

  private YamlTree(String yaml, boolean isTyped) {
    LoaderOptions options = new LoaderOptions();
    options.setCodePointLimit(MAX_CHARS);
    this.parser = new ParserImpl(new StreamReader(new StringReader(yaml)), options);
    this.isTyped = isTyped;
  }

  /** Thrown when a text is not valid YAML or exceeds a limit. */
  public static final class NotYamlException extends Exception {
    private static final long serialVersionUID = 1L;

    NotYamlException(String message) {
      super(message);
    }

    NotYamlException(String message, RuntimeException cause) {
      super(message, cause);
    }
  }

  /**
   * A node.
   *
   * @param text the text of a scalar; null for a mapping or a list
   * @param tree the tree of a mapping or a list; null for a scalar, and for an incomplete mapping
   *     or list
   * @param values number of values in the node
   * @param depth nesting depth of the node
   */
  private record Part(
      @Nullable String text, @Nullable JsonNode tree, Tag tag, Mark mark, long values, int depth) {}

  /**
   * Parses a text. The tree has one shared object for equal small mappings. A JSON text is also
   * valid YAML, and is parsed in a tenth of the time.
   *
   * @throws NotYamlException if the text is not valid YAML; the message names the line and the
   *     column
   */
  public static JsonNode of(String yaml) throws NotYamlException {
    JsonNode json = JsonTree.ifJson(yaml);
    return json == null ? of(yaml, true) : json;
  }

  /**
   * Parses a text, and reads every scalar except {@code null} as a string, exactly as written. For
   * example, {@code True} and {@code +49} are strings.
   *
   * @throws NotYamlException if the text is not valid YAML; the message names line and column
   */
  public static JsonNode ofTexts(String yaml) throws NotYamlException {
    return of(yaml, false);
  }

  private static JsonNode of(String yaml, boolean isTyped) throws NotYamlException {
    try {
      return new YamlTree(yaml, isTyped).document();
    } catch (MarkedYAMLException marked) {
      throw new NotYamlException(place(marked.getProblemMark()) + marked.getProblem(), marked);
    } catch (YAMLException tooLarge) {
      throw new NotYamlException(
          String.valueOf(tooLarge.getMessage()).lines().findFirst().orElse("?"), tooLarge);
    } catch (RuntimeException unexpected) {
      // the parser throws other exceptions for escapes such as \UFFFFFFFF and for some tags
      throw new NotYamlException("an escape or a tag cannot be read: " + unexpected, unexpected);
    }
  }

  private JsonNode document() throws NotYamlException {
    parser.getEvent(); // the start of the stream
    if (parser.checkEvent(Event.ID.StreamEnd)) {
      return MissingNode.getInstance();
    }
    parser.getEvent(); // the start of the document
    Part root = part();
    parser.getEvent(); // the end of the document
    if (!parser.checkEvent(Event.ID.StreamEnd)) {
      throw refused(parser.peekEvent().getStartMark(), "found another document");
    }
    boolean isEmpty = root.text != null && root.tag.equals(Tag.NULL);
    return isEmpty ? MissingNode.getInstance() : tree(root);
  }

  /** Reads the next node. */
  private Part part() throws NotYamlException {
    Event event = parser.getEvent();
    if (event instanceof AliasEvent alias) {
      return aliased(alias);
    }
    if (event instanceof ScalarEvent scalar) {
      Part part = scalar(scalar);
      if (scalar.getAnchor() != null) {
        anchors.put(scalar.getAnchor(), part);
      }
      return part;
    }
    CollectionStartEvent start = (CollectionStartEvent) event;
    Part open = new Part(null, null, tagOf(start), start.getStartMark(), 0, 0);
    nesting++;
    if (nesting > MAX_DEPTH) {
      throw tooDeep(open);
    }
    if (start.getAnchor() != null) {
      anchors.put(start.getAnchor(), open);
    }
    Part part = start instanceof MappingStartEvent ? mapping(open) : list(open);
    if (part.depth > MAX_DEPTH) {
      throw tooDeep(part);
    }
    if (start.getAnchor() != null) {
      // a node inside may have used the anchor again
      anchors.replace(start.getAnchor(), open, part);
    }
    nesting--;
    return part;
  }

  private static NotYamlException tooDeep(Part part) {
    return refused(part.mark, "the value is nested more than " + MAX_DEPTH + " deep");
  }

  private Part aliased(AliasEvent alias) throws NotYamlException {
    Part part = anchors.get(alias.getAnchor());
    if (part == null) {
      throw refused(alias.getStartMark(), "found undefined alias " + alias.getAnchor());
    }
    if (part.text == null) {
      if (part.tree == null) {
        throw refused(part.mark, "an alias is inside the node that it refers to");
      }
      aliases++;
      if (aliases > MAX_ALIASES) {
        throw refused(
            alias.getStartMark(),
            "the file has more than " + MAX_ALIASES + " aliases of mappings and lists");
      }
    }
    countRepeated(part.values, alias.getStartMark());
    return part;
  }

  private Part scalar(ScalarEvent event) {
    String text = event.getValue();
    Tag tag =
        hasTag(event.getTag())
            ? new Tag(event.getTag())
            : schema.resolve(NodeId.scalar, text, event.getImplicit().canOmitTagInPlainScalar());
    return new Part(text, null, tag, event.getStartMark(), 1, 0);
  }

  private static Tag tagOf(CollectionStartEvent start) {
    return hasTag(start.getTag())
        ? new Tag(start.getTag())
        : start instanceof MappingStartEvent ? Tag.MAP : Tag.SEQ;
  }

  /** Returns whether a node has a tag that sets its type. The tag {@code !} sets no type. */
  private static boolean hasTag(@Nullable String tag) {
    return tag != null && !tag.equals("!");
  }

  private void countWritten(Mark mark) throws NotYamlException {
    written++;
    if (written > MAX_VALUES) {
      throw refused(mark, "the file has more than " + MAX_VALUES + " values");
    }
  }

  private void countRepeated(long values, Mark mark) throws NotYamlException {
    repeated += values;
    if (repeated > MAX_REPEATED) {
      throw refused(mark, "aliases repeat more than " + MAX_REPEATED + " values");
    }
  }

  private Part list(Part open) throws NotYamlException {
    requireTag(open, Tag.SEQ);
    ArrayNode list = NODES.arrayNode();
    long values = 1;
    int depth = 0;
    while (!parser.checkEvent(Event.ID.SequenceEnd)) {
      Part part = part();
      list.add(tree(part));
      values += part.values;
      depth = Math.max(depth, part.depth);
      countWritten(part.mark);
    }
    parser.getEvent(); // the end of the list
    return new Part(null, list, open.tag, open.mark, values, depth + 1);
  }

  /**
   * Returns a mapping. The mapping's own keys have precedence over merged keys, and earlier merged
   * keys over later merged keys.
   */
  private Part mapping(Part open) throws NotYamlException {
    requireTag(open, Tag.MAP);
    ObjectNode mapping = NODES.objectNode();
    List<JsonNode> merged = new ArrayList<>();
    boolean merges = false;
    long values = 1;
    int depth = 0;
    while (!parser.checkEvent(Event.ID.MappingEnd)) {
      Part keyPart = part();
      String key = key(keyPart);
      boolean isMerge = keyPart.tag.equals(Tag.MERGE);
      if (mapping.has(key) || (merges && key.equals(MERGE_KEY))) {
        throw refused(keyPart.mark, "found duplicate key " + key);
      }
      Part part = part();
      values += part.values;
      depth = Math.max(depth, part.depth);
      countWritten(keyPart.mark);
      if (isMerge) {
        merges = true;
        merged.addAll(mappings(part));
      } else {
        mapping.set(key, tree(part));
      }
    }
    parser.getEvent(); // the end of the mapping
    for (JsonNode other : merged) {
      for (Map.Entry<String, JsonNode> each : other.properties()) {
        if (mapping.putIfAbsent(each.getKey(), each.getValue()) == null) {
          countRepeated(1, open.mark);
        }
      }
    }
    return new Part(null, shared.oneOf(mapping, values), open.tag, open.mark, values, depth + 1);
  }

  private List<JsonNode> mappings(Part part) throws NotYamlException {
    List<JsonNode> mappings = new ArrayList<>();
    JsonNode merged = tree(part);
    if (merged.isArray()) {
      merged.forEach(mappings::add);
    } else {
      mappings.add(merged);
    }
    if (!mappings.stream().allMatch(JsonNode::isObject)) {
      throw refused(part.mark, "the value of << must be a mapping or a list of mappings");
    }
    return mappings;
  }

  private static String key(Part part) throws NotYamlException {
    String text = part.text;
    if (text == null) {
      throw refused(part.mark, "a key must be a string, not a mapping or a list");
    }
    if (part.tag.equals(Tag.NULL)) {
      throw refused(
          part.mark,
          text.isEmpty()
              ? "a key is missing before the colon"
              : "the key " + text + " is not a string; put it in quotation marks");
    }
    if (part.tag.equals(Tag.MERGE) && !text.equals(MERGE_KEY)) {
      throw refused(
          part.mark, "the tag !!merge is allowed only for the key <<, but the key is " + text);
    }
    return text;
  }

  /** Returns the tree of a complete node. */
  private JsonNode tree(Part part) throws NotYamlException {
    return part.text == null
        ? Objects.requireNonNull(part.tree)
        : scalar(part.text, part.tag, part.mark);
  }

  private JsonNode scalar(String text, Tag tag, Mark mark) throws NotYamlException {
    if (tag.equals(Tag.STR)) {
      return NODES.textNode(text);
    }
    if (tag.equals(Tag.NULL)) {
      return NODES.nullNode();
    }
    if (!isTyped && (tag.equals(Tag.BOOL) || tag.equals(Tag.INT) || tag.equals(Tag.FLOAT))) {
      return NODES.textNode(text);
    }
    if (tag.equals(Tag.BOOL) && CoreSchema.BOOL.matcher(text).matches()) {
      return NODES.booleanNode(text.toLowerCase(Locale.ROOT).equals("true"));
    }
    if ((tag.equals(Tag.INT) || tag.equals(Tag.FLOAT)) && text.length() > LONGEST_NUMBER) {
      throw refused(mark, "a number must have at most " + LONGEST_NUMBER + " digits");
    }
    if (tag.equals(Tag.INT) && CoreSchema.INT.matcher(text).matches()) {
      return text.length() > LONGEST_LONG
          ? NODES.numberNode(new BigInteger(text))
          : NODES.numberNode(Long.parseLong(text));
    }
    if (tag.equals(Tag.FLOAT) && CoreSchema.FLOAT.matcher(text).matches()) {
      return NODES.numberNode(Double.parseDouble(text));
    }
    throw refused(
        mark, "the type " + tag + " is not allowed in this file, or does not match its value");
  }

  private static void requireTag(Part open, Tag tag) throws NotYamlException {
    if (!open.tag.equals(tag)) {
      throw refused(open.mark, "the type " + open.tag + " is not allowed in this file");
    }
  }

  private static String place(@Nullable Mark mark) {
    return mark == null
        ? ""
        : "line " + (mark.getLine() + 1) + ", column " + (mark.getColumn() + 1) + ": ";
  }

  private static NotYamlException refused(Mark mark, String why) {
    return new NotYamlException(place(mark) + why);
  }

  /** The core schema of YAML 1.2 §10.3.2, with merge keys. */
  private static final class CoreSchema extends Resolver {
    private static final Pattern BOOL = Pattern.compile("^(?:true|True|TRUE|false|False|FALSE)$");
    private static final Pattern INT = Pattern.compile("^[-+]?(?:0|[1-9][0-9]*)$");
    private static final Pattern FLOAT =
        Pattern.compile("^[-+]?(?:\\.[0-9]+|[0-9]+\\.[0-9]*|[0-9]+(?=[eE]))(?:[eE][-+]?[0-9]+)?$");
    private static final Pattern NULL = Pattern.compile("^(?:~|null|Null|NULL| )$");

    @Override
    protected void addImplicitResolvers() {
      addImplicitResolver(Tag.BOOL, BOOL, "tTfF");
      addImplicitResolver(Tag.INT, INT, "-+0123456789");
      addImplicitResolver(Tag.FLOAT, FLOAT, "-+0123456789.");
      addImplicitResolver(Tag.MERGE, MERGE, "<");
      addImplicitResolver(Tag.NULL, NULL, "~nN\0");
      addImplicitResolver(Tag.NULL, EMPTY, null);
    }
  }
}
