// SPDX-License-Identifier: Apache-2.0
/**
 * Servers for tests, which run as local processes or as containers. The system property {@code
 * weir.test.servers} selects local processes ({@code process}, the default) or containers ({@code
 * containers}).
 */
@NullMarked
package io.weir.servers.testing;

import org.jspecify.annotations.NullMarked;
