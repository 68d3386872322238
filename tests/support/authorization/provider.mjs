// A real authorization server (npm `oidc-provider`) for the tests: node provider.mjs FOLDER_OF_PACKAGES SETTINGS
// Anybody logs in with any name. It writes its address to stdout when it listens.
import { createRequire } from 'node:module'
import { pathToFileURL } from 'node:url'

const require = createRequire(pathToFileURL(process.argv[2] + '/'))
const { default: Provider } = await import(pathToFileURL(require.resolve('oidc-provider')).href)
const told = JSON.parse(process.argv[3])
const issuer = `http://127.0.0.1:${told.port}`
const EXCHANGE = 'urn:ietf:params:oauth:grant-type:token-exchange'

const provider = new Provider(issuer, {
  clients: [
    {
      client_id: 'toolcrib', client_secret: 'a-secret-of-the-gateway', redirect_uris: [], response_types: [],
      grant_types: ['client_credentials', EXCHANGE], token_endpoint_auth_method: 'client_secret_basic',
    },
    {
      client_id: 'people', redirect_uris: ['http://127.0.0.1:9/callback'], response_types: ['code'],
      grant_types: ['authorization_code', 'refresh_token'], token_endpoint_auth_method: 'none',
      application_type: 'native',
    },
  ],
  scopes: ['openid', 'offline_access', 'tools', 'tools.admin'],
  ttl: { AccessToken: told.seconds ?? 3600 },
  rotateRefreshToken: true,
  issueRefreshToken: async () => true,
  features: {
    clientCredentials: { enabled: true },
    introspection: { enabled: true },
    revocation: { enabled: true },
    registration: { enabled: true },
    clientIdMetadataDocument: { enabled: true, ack: 'draft-02' },
    resourceIndicators: {
      enabled: true,
      defaultResource: async () => told.resource,
      useGrantedResource: async () => true,
      getResourceServerInfo: async (ctx, resource) => ({
        scope: 'tools tools.admin', audience: resource, accessTokenFormat: told.format ?? 'jwt',
        accessTokenTTL: told.seconds ?? 3600, jwt: { sign: { alg: 'RS256' } },
      }),
    },
  },
})

// Token exchange (RFC 8693) for an access token of a user: the same user, at another resource.
provider.registerGrantType(EXCHANGE, async (ctx) => {
  const { subject_token: given, resource, audience } = ctx.oidc.params
  const subject = JSON.parse(Buffer.from(given.split('.')[1], 'base64url'))
  if (subject.iss !== issuer || subject.exp < Date.now() / 1000 ) {
    ctx.status = 400
    ctx.body = { error: 'invalid_grant', error_description: 'the subject token does not count' }
    return
  }
  const token = new provider.AccessToken({
    client: ctx.oidc.client, accountId: subject.sub, grantId: 'exchanged', gty: EXCHANGE, scope: 'tools',
  })
  token.resourceServer = new provider.ResourceServer(resource ?? audience, {
    audience: resource ?? audience, scope: 'tools', accessTokenFormat: 'jwt',
    accessTokenTTL: told.seconds ?? 3600, jwt: { sign: { alg: 'RS256' } },
  })
  ctx.body = {
    access_token: await token.save(), token_type: 'Bearer', expires_in: told.seconds ?? 3600,
    issued_token_type: 'urn:ietf:params:oauth:token-type:access_token',
  }
}, ['subject_token', 'subject_token_type', 'audience', 'resource', 'scope'], ['audience', 'resource'])

provider.listen(told.port, '127.0.0.1', () => console.log(issuer))
